"""What `check_component` finds; what it lets pass are built-in components."""

import re

import numpy as np
import pytest
import scipy.sparse

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime import (
    Component,
    ForceField,
    LinearMapping,
    Mass,
    Real,
    components,
)
from sofa_softctl.runtime.core import factory
from sofa_softctl.testing import check_component


class Gravel(ForceField):
    """A cubic spring to the origin: f = -k |x|^2 x."""

    stiffness = Real(2.0, "Of the spring.", unit="force/length^3")

    def add_force(self, force):
        x = self.state.position.array()
        force -= self.stiffness.get() * (x * x).sum(axis=1, keepdims=True) * x

    def _blocks(self):
        x = self.state.position.array()
        squares = (x * x).sum(axis=1)[:, None, None]
        return self.stiffness.get() * (squares * np.eye(3) + 2.0 * x[:, :, None] * x[:, None, :])

    def add_product(self, out, v, factor):
        out += factor * np.einsum("nij,nj->ni", self._blocks(), v)

    def pairs(self):
        nodes = np.arange(self.state.count)
        return nodes, nodes

    def add_matrix(self, values, slots, factor):
        values[slots] += factor * self._blocks()


def variant(base=Gravel, **members):
    """A class of the same name with other members."""
    return type(base.__name__, (base,), {"__doc__": base.__doc__, **members})


@pytest.mark.processes(keep=3)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("RestShapeSpringsForceField", {"stiffness": [7.0]}),
        ("TetrahedronFEMForceField", {"at_rest": True}),
        ("FastTetrahedralCorotationalForceField", {"at_rest": True}),
        ("UniformMass", {"totalMass": 0.1}),
        ("DiagonalMass", {"massDensity": 1e-6}),
        ("MeshMatrixMass", {"massDensity": 1e-6}),
        ("BarycentricMapping", {}),
        ("IdentityMapping", {}),
        ("SubsetMapping", {"indices": [1, 5, 5]}),
        ("SphereROI", {}),
        ("CableConstraint", {"indices": [1, 5], "pullPoint": [0.0, 0.0, -1.0]}),
    ],
)
def test_built_in_components_pass(name, options):
    cls = getattr(components, name)
    assert isinstance(check_component(cls, **options), cls)


def test_a_force_field_passes_and_is_forgotten_afterwards():
    check_component(Gravel)
    assert factory.find("Gravel") is None


def test_the_corotational_stiffness_is_the_derivative_at_rest_alone():
    with pytest.raises(AssertionError, match="df/dx by add_product: expected .* power 0.0"):
        check_component(components.TetrahedronFEMForceField)


def no_product(self, out, v, factor):
    pass


def spring_of_half_the_stiffness(self, out, v, factor):
    Gravel.add_product(self, out, v, 0.5 * factor)


def overwrites(self, force):
    force[:] = 0.0
    Gravel.add_force(self, force)


def half_a_matrix(self, values, slots, factor):
    Gravel.add_matrix(self, values, slots, 0.5 * factor)


def without_factor(self, values, slots, factor):
    Gravel.add_matrix(self, values, slots, 1.0)


def overwrites_the_matrix(self, values, slots, factor):
    values[slots] = factor * self._blocks()


def once(self):
    """K of the first position that is asked for."""
    if "kept" not in vars(self):
        self.kept = Gravel._blocks(self)
    return self.kept


def pushes_the_nodes(self, force):
    Gravel.add_force(self, force)
    self.state.position.get()[0] += 1e-3


def halves_its_argument(self, out, v, factor):
    Gravel.add_product(self, out, v, factor)
    v *= 0.5


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"add_matrix": without_factor}, "add_matrix, values = 1 and factor = -2: expected"),
        ({"add_matrix": overwrites_the_matrix}, "add_matrix, values = 1 and factor = -2: expected"),
        ({"_blocks": once}, "df/dx by add_product: expected"),
        ({"add_force": pushes_the_nodes}, "add_force must not change position of /body/dofs"),
        ({"add_product": halves_its_argument}, "Gravel.add_product must not change v: expected"),
        ({"add_product": no_product}, "df/dx by add_product: expected"),
        ({"add_product": spring_of_half_the_stiffness}, "df/dx by add_product: expected"),
        ({"add_force": overwrites}, r"Gravel.add_force, force = 1 before: expected"),
        ({"add_matrix": half_a_matrix}, "K by pairs and add_matrix, against add_product: expected"),
        ({"__doc__": ""}, "Gravel: expected a docstring"),
        ({"width": Real(1.0, "")}, "Gravel.width: expected a help text that ends with a full stop"),
        ({"width": Real(1.0, "Of it.", unit="mm")}, "Gravel.width: expected a unit in words .*'mm"),
        ({"width": Real(1.0, "Of it.", aliases=("stiffness",))}, "'stiffness' stands for two"),
        ({"width": Real(1.0, "Of it.", aliases=("init",))}, "'init' stands for two things"),
    ],
)
def test_what_is_wrong_with_a_force_field_is_told(members, message):
    with pytest.raises(AssertionError, match=message):
        check_component(variant(**members))
    assert factory.find("Gravel") is None


class Floor(ForceField):
    """Pushes points up that are below z = height."""

    height = Real(0.0, "Of the floor.", unit="length")

    def _depth(self):
        return np.maximum(self.height.get() - self.state.position.array()[:, 2], 0.0)

    def add_force(self, force):
        force[:, 2] += 7.0 * self._depth()

    def add_product(self, out, v, factor):
        out[:, 2] += factor * 7.0 * (self._depth() > 0.0) * v[:, 2]

    def pairs(self):
        nodes = np.arange(self.state.count)
        return nodes, nodes

    def add_matrix(self, values, slots, factor):
        values[slots, 2, 2] += factor * 7.0 * (self._depth() > 0.0)


def test_a_force_that_does_not_act_is_not_checked():
    with pytest.raises(AssertionError, match="Floor: .*no force acts here: give a state where it"):
        check_component(Floor, height=-100.0)
    check_component(Floor, height=-100.0, inactive=True)
    check_component(Floor, height=100.0)
    with pytest.raises(AssertionError, match="inactive = True, expected neither forces nor stiff"):
        check_component(Floor, height=100.0, inactive=True)


def test_a_force_without_stiffness_passes():
    def nothing(self, *args):
        pass

    def add_force(self, force):
        force[:, 0] += 3.0

    check_component(variant(add_force=add_force, add_product=nothing, add_matrix=nothing))


def test_a_stiffness_that_is_not_symmetric_must_say_so():
    """f = (y, 0, 0): its derivative has one entry off the diagonal."""

    def add_force(self, force):
        force[:, 0] += self.state.position.array()[:, 1]

    def add_product(self, out, v, factor):
        out[:, 0] -= factor * v[:, 1]

    def add_matrix(self, values, slots, factor):
        values[slots, 0, 1] -= factor

    follower = {"add_force": add_force, "add_product": add_product, "add_matrix": add_matrix}
    with pytest.raises(AssertionError, match="K transposed, against K .or say skew = True."):
        check_component(variant(**follower))
    check_component(variant(**follower, skew=True))


def test_errors_of_a_component_name_the_line_of_the_scene():
    def without_line(self):
        if self._context.find_upward("state") is None:
            raise SceneError("I need a MechanicalObject.")

    with pytest.raises(AssertionError, match="starts with the scene's line.*got 'I need a Mech"):
        check_component(variant(Component, __doc__="A part.", init=without_line))

    def with_line(self):
        if self._context.find_upward("state") is None:
            raise self.fault("needs a MechanicalObject.")

    check_component(variant(Component, __doc__="A part.", init=with_line))


def test_errors_of_a_component_are_scene_errors():
    def init(self):
        self.state_above = self._context.find_upward("state").count

    with pytest.raises(AssertionError, match="alone in a node, .*got AttributeError: 'NoneType'"):
        check_component(variant(Component, __doc__="A part.", init=init))


def test_a_strange_value_ends_in_a_scene_error_that_names_its_data():
    def data_changed(self, data):
        if data.name == "stiffness":
            {2.0: 1}[data.get()]

    message = r"Gravel.stiffness = inf: expected it to be taken, or a SceneError; got KeyError"
    with pytest.raises(AssertionError, match=message):
        check_component(variant(data_changed=data_changed))


def test_a_default_must_be_a_value_of_its_type():
    class Odd(Real):
        def format(self, value):
            return "1"

    with pytest.raises(AssertionError, match=r"Gravel.odd: the default 2.0 is not a value of"):
        check_component(variant(odd=Odd(2.0, "Written as 1.")))


def test_a_name_that_is_taken_is_told_with_its_owner():
    cls = type("UniformMass", (Component,), {"__doc__": "Another mass."})
    with pytest.raises(AssertionError, match="already is a component.*mass.uniform.UniformMass"):
        check_component(cls)


class Ends(LinearMapping):
    """Each follower is the mean of the first and the last node."""

    def find_weights(self):
        nodes = np.tile([0, self.parent.count - 1], (self.child.count, 1))
        self.set_weights(nodes, np.full(nodes.shape, 0.5))


def squares(self, x, out):
    LinearMapping.apply(self, x, out)
    out *= out


def transposes_half(self, force, out):
    LinearMapping.add_jt(self, 0.5 * force, out)


def transposes_anew(self, force, out):
    out[:] = 0.0
    LinearMapping.add_jt(self, force, out)


def writes_force(self, force, out):
    LinearMapping.add_jt(self, force, out)
    force[:] = 0.0


def writes_velocity(self, v, out):
    LinearMapping.apply_j(self, v, out)
    v[:] = 0.0


def writes_positions(self, x, out):
    LinearMapping.apply(self, x, out)
    x[0] += 1e-3


def no_weights(self, driver=0):
    raise NotImplementedError


def jacobian_alone(self, driver=0):
    """That of the class, without `weights`."""
    by_nodes = scipy.sparse.csr_array(
        (self.factors, self.nodes, self.starts), shape=(self.child.count, self.parent.count)
    )
    return scipy.sparse.csr_array(scipy.sparse.kron(by_nodes, np.eye(3)))


class Bent(Ends):
    """x is squared, and J is that of the first position, for ever."""

    has_constant_weights = False
    kept = None

    def apply(self, x, out):
        LinearMapping.apply(self, x, out)
        self.slope = 2.0 * out
        out *= out

    def factor(self):
        if self.kept is None:
            self.kept = self.slope.copy()
        return self.kept

    def apply_j(self, v, out):
        LinearMapping.apply_j(self, v, out)
        out *= self.factor()

    def add_jt(self, force, out):
        LinearMapping.add_jt(self, self.factor() * force, out)

    def jacobian(self, driver=0):
        return scipy.sparse.diags_array(self.factor().ravel()) @ jacobian_alone(self)


def test_a_jacobian_of_the_first_position_is_found():
    check_component(variant(Bent, factor=lambda self: self.slope))
    with pytest.raises(AssertionError, match="Bent: J by apply_j: expected"):
        check_component(variant(Bent))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"add_jt": writes_force}, "Ends.add_jt must not change force: expected"),
        ({"apply_j": writes_velocity}, "Ends.apply_j must not change v: expected"),
        ({"apply": writes_positions}, "Ends.apply must not change position of /body/dofs: expec"),
        (
            {"weights": no_weights},
            r"J by jacobian: expected weights\(\), as has_constant_weights is True",
        ),
        (
            {"weights": no_weights, "jacobian": jacobian_alone},
            r"J by weights: expected weights\(\), as has_constant_weights is True; got NotI",
        ),
        ({"apply": squares}, "Ends: J by apply_j: expected"),
        ({"add_jt": transposes_half}, "Ends: J.T by add_jt, against J by apply_j: expected"),
        ({"add_jt": transposes_anew}, "Ends.add_jt, out = 1 before: expected"),
        (
            {"weights": lambda self, driver=0: (self.starts, self.nodes, 2.0 * self.factors)},
            "Ends: J by jacobian, against apply_j: expected",
        ),
    ],
)
def test_what_is_wrong_with_a_mapping_is_told(members, message):
    check_component(Ends)
    with pytest.raises(AssertionError, match=message):
        check_component(variant(Ends, **members))


class Lumps(Mass):
    """A mass of 2 at each node."""

    masses = 2.0

    def add_gravity(self, force, gravity):
        force += 2.0 * gravity

    def add_product(self, out, v, factor):
        out += factor * self.masses * v

    def pairs(self):
        nodes = np.arange(self.state.count)
        return nodes, nodes

    def add_matrix(self, values, slots, factor):
        values[slots] += factor * self.masses * np.eye(3)


def as_if_one(self, values, slots, factor):
    Lumps.add_matrix(self, values, slots, 1.0)


def turns_gravity(self, force, gravity):
    Lumps.add_gravity(self, force, gravity)
    gravity *= -1.0


def leans(self, out, v, factor):
    out += factor * 2.0 * v
    out[:, 0] += factor * v[:, 1]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"add_matrix": as_if_one}, "Lumps.add_matrix, values = 1 and factor = -2: expected"),
        ({"add_gravity": turns_gravity}, "Lumps.add_gravity must not change gravity: expected"),
        ({"masses": -1.0}, "Lumps: expected a positive definite matrix, got the eigenvalue -1"),
        ({"masses": 3.0}, r"Lumps.add_gravity with \[1.0, -9.81, 0.5\], force = 1 before: expecte"),
        ({"add_product": leans}, "Lumps: M transposed, against M: expected"),
    ],
)
def test_what_is_wrong_with_a_mass_is_told(members, message):
    check_component(Lumps)
    with pytest.raises(AssertionError, match=message):
        check_component(variant(Lumps, **members))


def test_a_scene_of_ones_own_must_give_the_component():
    with pytest.raises(AssertionError, match="expected `create` to return the component, got <Uni"):
        check_component(Gravel, lambda root: root.addObject("UniformMass", totalMass=1.0))


def test_bodies_have_derivatives_along_their_rotations():
    """RigidMapping turns, so its J is checked in velocities, not in quaternions."""

    def create(root):
        node = root.addChild("bodies")
        node.addObject("EulerImplicitSolver")
        node.addObject("SparseLDLSolver")
        quaternion = np.array([0.1, 0.2, 0.3, 0.9]) / np.sqrt(0.95)
        node.addObject("MechanicalObject", template="Rigid3", position=[[1, 2, 3, *quaternion]])
        node.addObject("UniformMass", vertexMass=[2, 1, 3, 0.1, 0, 0.1, 2, 0, 0, 0, 1])
        child = node.addChild("carried")
        child.addObject("MechanicalObject", position=[[1.0, 0.0, 0.5], [-1.0, 2.0, 0.0]])
        return child.addObject("RigidMapping")

    check_component(components.RigidMapping, create)

    def mass(root):
        return create(root).getContext().parents[0].getObject("UniformMass")

    check_component(components.UniformMass, mass)


def test_every_message_is_a_sentence():
    with pytest.raises(AssertionError) as caught:
        check_component(variant(add_product=no_product))
    assert re.search(r"expected [-\d.e+]+ in row \d+, column \d+, from central", str(caught.value))
    assert str(caught.value).endswith(".")


def test_a_function_is_no_component():
    with pytest.raises(AssertionError, match="Expected a component's class.* got <function once"):
        check_component(once)
