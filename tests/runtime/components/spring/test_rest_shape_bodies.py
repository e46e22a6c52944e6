"""RestShapeSpringsForceField on bodies and joints."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sofa_softctl.runtime.simulation import simulation


@pytest.fixture
def springs(root):
    """Makes springs on three bodies, or joints."""

    def make(position, rest, template="Rigid3", **values):
        node = root.addChild("body")
        node.addObject("EulerImplicitSolver")
        node.addObject("SparseLDLSolver", name="solver")
        node.addObject(
            "MechanicalObject", name="dofs", template=template, position=position,
            rest_position=rest,
        )  # fmt: skip
        node.addObject("UniformMass", totalMass=float(len(position)))
        field = node.addObject("RestShapeSpringsForceField", template=template, **values)
        simulation.init(root)
        return field

    return make


def force_of(field):
    force = np.zeros((field.state.count, field.state.deriv_size))
    field.add_force(force)
    return force


def pose(centre=(0, 0, 0), turn=(0, 0, 0)):
    return [*centre, *Rotation.from_rotvec(turn).as_quat()]


def test_the_moment_is_axis_times_angle_times_stiffness(springs):
    """Whatever the rest position is turned by: the turn counts from there."""
    turn, first = np.array([0.3, -0.4, 1.2]), Rotation.from_rotvec([1.0, 2.0, -0.5])
    now = (Rotation.from_rotvec(turn) * first).as_quat()
    field = springs(
        [[1, 2, 3, *now]], [[0, 0, 0, *first.as_quat()]], stiffness=[5.0], angularStiffness=[7.0]
    )
    expected = [-5.0, -10.0, -15.0, *(-7.0 * turn)]
    assert force_of(field)[0] == pytest.approx(expected, abs=1e-13)


def test_the_shorter_way_back_counts(springs):
    """A turn by 350 degrees is one by -10."""
    field = springs([pose(turn=[0, 0, np.radians(350)])], [pose()], angularStiffness=[1.0])
    assert force_of(field)[0, 5] == pytest.approx(np.radians(10.0), abs=1e-12)


def test_missing_angular_stiffnesses_are_100(springs, tolerant):
    """As in SOFA, one for each stiffness; beyond the stiffnesses the first of both counts."""
    x = [pose(turn=[0.1, 0, 0])] * 3
    field = springs(x, [pose()] * 3, stiffness=[1.0, 2.0], angularStiffness=[3.0])
    assert force_of(field)[:, 3] == pytest.approx([-0.3, -10.0, -0.3], abs=1e-12)


def test_directions_can_be_left_free(springs):
    x = [pose([1, 1, 1], [0.1, 0.2, 0.3])]
    field = springs(x, [pose()], stiffness=[1.0], activeDirections=[1, 0, 1, 0, 1, 0, 1])
    found = force_of(field)[0] != 0.0
    assert found.tolist() == [True, False, True, False, True, False]


def test_the_matrix_is_that_of_the_product(springs, root):
    """Translations and turns have a constant stiffness each: A = M + h^2 K."""
    x = [pose([k, 0, 0], [0, 0.1 * k, 0]) for k in range(3)]
    field = springs(x, [pose()] * 3, points=[0, 2], stiffness=[50.0], angularStiffness=[8.0])
    simulation.animateNSteps(root, 1)
    k = np.array([[50.0] * 3 + [8.0] * 3, [0.0] * 6, [50.0] * 3 + [8.0] * 3])
    A = root.getChild("body").getObject("solver").A().toarray()
    assert A == pytest.approx(np.diag(1.0 + 0.01**2 * k.ravel()), abs=1e-14)
    v, out = np.random.default_rng(0).normal(size=(3, 6)), np.zeros((3, 6))
    field.add_product(out, v, 2.0)
    assert out == pytest.approx(2.0 * k * v)


def test_a_body_swings_about_its_rest_with_its_own_frequency(springs, root):
    """Implicit Euler of I w' = -k a, to the letter: (a, w) -> (a + h w', w'),
    w' = (w - h k a) / (1 + h^2 k)."""
    springs([pose(turn=[0.2, 0, 0])], [pose()], stiffness=[1.0], angularStiffness=[30.0])
    angle, speed, h = 0.2, 0.0, 0.01
    for _ in range(50):
        speed = (speed - h * 30.0 * angle) / (1.0 + h * h * 30.0)
        angle += h * speed
    simulation.animateNSteps(root, 50)
    dofs = root.getChild("body").dofs
    found = Rotation.from_quat(dofs.position.value[0, 3:]).as_rotvec()
    assert found == pytest.approx([angle, 0.0, 0.0], abs=1e-13)


def test_joints_have_springs_in_their_one_direction(springs, root):
    field = springs(
        [[0.1], [0.2], [0.3], [0.4]], [[0.0]] * 4, "Vec1", points=[3, 1], stiffness=[10.0]
    )
    assert force_of(field)[:, 0] == pytest.approx([0.0, -2.0, 0.0, -4.0])
    simulation.animateNSteps(root, 1)
    diagonal = root.getChild("body").getObject("solver").A().diagonal()
    assert diagonal[:4] == pytest.approx(1.0 + 0.01**2 * np.array([0.0, 10.0, 0.0, 10.0]))
