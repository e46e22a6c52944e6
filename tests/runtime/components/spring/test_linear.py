"""Springs between nodes; their motions are compared in parity/mechanics."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.components.spring.linear import LinearSpring
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.simulation import simulation, snapshot
from sofa_softctl.testing import check_force_field

RANDOM = np.random.default_rng(5)
ONE, TWO = RANDOM.uniform(0, 2, (3, 3)), RANDOM.uniform(0, 2, (2, 3))
PAIRS = {"indices1": [0, 2], "indices2": [1, 0], "stiffness": [30, 50], "lengths": [1, 0.5]}


@pytest.fixture
def joined(root):
    """Makes two bodies with springs between them."""

    def make(second="moving", linear_solver="SparseLDLSolver", **values):
        node = root.addChild("both")
        node.addObject("EulerImplicitSolver")
        node.addObject(linear_solver)
        for name, points in (("one", ONE), ("two", TWO)):
            parent = root if name == "two" and second != "moving" else node
            child = parent.addChild(name)
            if name == "two" and second == "other":
                child.addObject("EulerImplicitSolver")
                child.addObject("SparseLDLSolver")
            child.addObject("MechanicalObject", name="dofs", position=points)
            if name == "one" or second != "obstacle":
                child.addObject("UniformMass", vertexMass=0.5)
        two = "@/both/two/dofs" if second == "moving" else "@/two/dofs"
        node.addObject(
            "SpringForceField", name="springs", object1="@/both/one/dofs", object2=two,
            **(values or PAIRS),
        )  # fmt: skip
        simulation.init(root)
        return node.springs

    return make


def test_forces_are_along_the_springs_and_opposite(joined):
    field = joined()
    force = np.zeros((5, 3))
    field.add_force(force)
    expected = np.zeros((5, 3))
    for a, b, k, length in ((0, 1, 30, 1.0), (2, 0, 50, 0.5)):
        u = TWO[b] - ONE[a]
        d = np.linalg.norm(u)
        expected[a] += k * (d - length) * u / d
        expected[3 + b] -= k * (d - length) * u / d
    assert force == pytest.approx(expected)


@pytest.mark.parametrize("second", ["moving", "obstacle"])
def test_stiffness_is_minus_the_derivative(second, root, integrated):
    """On one state; between two it is the same code on a state that holds both."""
    node = integrated(root, "body", np.concatenate([ONE, TWO]))
    node.addObject("UniformMass", vertexMass=1.0)
    field = node.addObject("SpringForceField", **{**PAIRS, "indices2": [4, 3], "damping": [0, 0]})
    simulation.init(root)
    check_force_field(field, scale=0.3)


def test_momentum_stays(joined, root):
    joined(**{**PAIRS, "damping": [3, 1]})
    simulation.animateNSteps(root, 10)
    v = np.concatenate([root.both[name].dofs.velocity.value for name in ("one", "two")])
    assert abs(v).max() > 1e-2
    assert v.sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-12)


@pytest.mark.parametrize("linear_solver", ["SparseLDLSolver", "CGLinearSolver"])
def test_an_obstacle_pulls_and_feels_nothing(linear_solver, joined, root):
    joined("obstacle", linear_solver)
    simulation.animateNSteps(root, 3)
    assert not root.two.dofs.force.value.any()
    assert abs(root.both.one.dofs.velocity.value[[0, 2]]).max() > 1e-2
    assert (root.two.dofs.position.value == TWO).all()


def test_a_script_moves_an_obstacle_and_the_springs_follow(joined, root):
    field = joined("obstacle")
    root.two.dofs.position.value = TWO + 5.0
    force = np.zeros((5, 3))
    field.add_force(force)
    assert (force[0] * (TWO[1] + 5.0 - ONE[0])).sum() > 100.0


def test_snapshots_hold_all_of_it(joined, root):
    joined()
    simulation.animateNSteps(root, 3)
    kept = snapshot.take_snapshot(root)
    simulation.animateNSteps(root, 3)
    later = root.both.two.dofs.position.value.copy()
    snapshot.put_back(root, kept)
    simulation.animateNSteps(root, 3)
    assert (root.both.two.dofs.position.value == later).all()


def test_springs_may_change_between_steps(joined):
    field = joined()
    field.indices1.value = [1, 1]
    force = np.zeros((5, 3))
    field.add_force(force)
    assert np.flatnonzero(force[:3].any(axis=1)).tolist() == [1]


def test_springs_that_pull_only_do_nothing_when_short(joined):
    field = joined(**{**PAIRS, "lengths": [9.0], "elongationOnly": [True]})
    force = np.zeros((5, 3))
    field.add_force(force)
    assert not force.any()


@pytest.mark.parametrize(
    ("second", "values", "message"),
    [
        ("other", PAIRS, "which another time integrator moves"),
        (
            "moving",
            {**PAIRS, "indices2": [1, 2]},
            "has 2 in 'object2', but .*two/dofs.* has 2 nodes",
        ),
        ("moving", {**PAIRS, "indices2": [1]}, "has 2 indices1, but 1 indices2: no springs"),
        ("moving", {"filename": "springs.xs3"}, "does not read springs from a file"),
    ],
)
def test_what_does_not_fit_is_a_fault(second, values, message, joined):
    with pytest.raises(SceneError, match=message):
        joined(second, **values)


def test_states_of_two_kinds_are_an_error(root):
    node = root.addChild("node")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver")
    for name, template in (("a", "Vec3d"), ("b", "Rigid3d")):
        child = node.addChild(name)
        child.addObject("MechanicalObject", name="dofs", template=template)
        child.addObject("UniformMass", totalMass=1.0)
    node.addObject("SpringForceField", object1="@a/dofs", object2="@b/dofs", spring=[0, 0, 1, 0, 1])
    with pytest.raises(SceneError, match="they must be alike"):
        simulation.init(root)


@pytest.mark.parametrize(
    ("kind", "mesh", "message"),
    [
        ("MeshSpringForceField", None, "needs a topology"),
        ("TriangularBendingSprings", {"edges": [[0, 1]]}, "finds no triangles in MeshTopology"),
        ("QuadularBendingSprings", {"triangles": [[0, 1, 2]]}, "finds no quads in MeshTopology"),
    ],
)
def test_springs_of_a_mesh_need_one(kind, mesh, message, root, integrated):
    node = integrated(root, "body", ONE)
    if mesh:
        node.addObject("MeshTopology", position=ONE, **mesh)
    node.addObject("UniformMass", vertexMass=1.0)
    node.addObject(kind)
    with pytest.raises(SceneError, match=message):
        simulation.init(root)


def test_polynomial_springs_need_all_their_coefficients(root, integrated):
    node = integrated(root, "body", ONE)
    node.addObject("UniformMass", vertexMass=1.0)
    node.addObject(
        "PolynomialRestShapeSpringsForceField", polynomialStiffness=[1, 2], polynomialDegree=[3]
    )
    with pytest.raises(SceneError, match="has 2 numbers in 'polynomialStiffness', but .* for 3"):
        simulation.init(root)


@pytest.mark.parametrize("linear_solver", ["SparseLDLSolver", "CGLinearSolver"])
@pytest.mark.parametrize("kind", ["MeshSpringForceField", "SpringForceField"])
def test_joints_on_springs_move_as_points_on_a_line(root, linear_solver, kind):
    """Along the line; SOFA has these springs too, but cannot begin: it looks for their box."""
    places = np.array([0.0, 1.0, 2.1, 3.0, 4.2, 5.0, 6.0])
    edges = [[0, 1], [1, 2], [3, 2], [3, 4], [6, 4], [5, 6], [0, 6]]
    root.gravity = [9.81, 0.0, 0.0]
    for name, template in (("joints", "Vec1"), ("points", "Vec3")):
        node = root.addChild(name)
        node.addObject("EulerImplicitSolver", rayleighStiffness=0.02)
        exact = {"iterations": 200, "tolerance": 1e-14, "threshold": 0.0}
        node.addObject(linear_solver, **(exact if linear_solver == "CGLinearSolver" else {}))
        wide = np.zeros((7, 1 if template == "Vec1" else 3))
        wide[:, 0] = places
        node.addObject("MechanicalObject", name="dofs", template=template, position=wide)
        node.addObject("UniformMass", vertexMass=0.3)
        node.addObject("FixedProjectiveConstraint", indices=[0])
        if kind == "SpringForceField":
            node.addObject(kind, spring=[[a, b, 40 + a, 1, 0.9] for a, b in edges])
        else:
            node.addObject("MeshTopology", edges=edges)
            node.addObject(kind, stiffness=50.0, damping=1.0)
    simulation.init(root)
    simulation.animateNSteps(root, 30)
    moved = root.joints.dofs.position.value[:, 0]
    assert moved == pytest.approx(root.points.dofs.position.value[:, 0], abs=1e-9)
    assert np.abs(moved - places).max() > 0.1


def test_springs_are_listed_added_and_removed(joined):
    """As in SofaPython3; the list of a script is a copy."""
    springs = joined()
    first, second = springs.getSprings()
    assert (second.index1, second.index2, second.springStiffness, second.restLength) == (
        2,
        0,
        50,
        0.5,
    )
    assert (first.dampingFactor, first.elongationOnly, first.enabled) == (5.0, False, True)
    springs.addSpring(index1=1, index2=1, springStiffness=7, dampingFactor=0, restLength=1)
    springs.addSpring(LinearSpring(0, 0, 9.0, 0.0, 2.0, elongationOnly=True, enabled=False))
    assert [(s.index1, s.springStiffness) for s in springs.getSprings()] == [
        (0, 30), (2, 50), (1, 7), (0, 9)
    ]  # fmt: skip
    assert [s.enabled for s in springs.getSprings()] == [True, True, True, False]
    springs.removeSprings([3, 0])
    springs.removeSpring(1)
    assert [s.index1 for s in springs.getSprings()] == [2]
    springs.clear()
    assert springs.getSprings() == []


def test_springs_that_a_script_adds_and_removes_act(joined, root):
    """As those of a scene that had them from the start, to rounding."""
    springs = joined(**{name: values[:1] for name, values in PAIRS.items()})
    springs.clear()
    for node, (k, length) in zip((0, 2), ((30, 1.0), (50, 0.5)), strict=True):
        springs.addSpring(node, 1 - node // 2, k, 5.0, length)
    simulation.animateNSteps(root, 5, 0.01)
    found = root.both.one.dofs.position.value.copy()
    fresh = Node("root", gravity=[0, 0, 0])
    fresh.addObject("DefaultAnimationLoop")
    both = fresh.addChild("both")
    both.addObject("EulerImplicitSolver")
    both.addObject("SparseLDLSolver")
    for name, points in (("one", ONE), ("two", TWO)):
        child = both.addChild(name)
        child.addObject("MechanicalObject", name="dofs", position=points)
        child.addObject("UniformMass", vertexMass=0.5)
    both.addObject("SpringForceField", object1="@one/dofs", object2="@two/dofs", **PAIRS)
    simulation.init(fresh)
    simulation.animateNSteps(fresh, 5, 0.01)
    assert found == pytest.approx(both.one.dofs.position.value, abs=1e-12)
    assert not np.allclose(found, ONE)


def test_elements_of_nodes_that_are_not_there_are_an_error(root, integrated, run):
    node = integrated(root, "body", [[0, 0, 0], [1, 0, 0]])
    node.addObject("UniformMass", totalMass=1.0)
    mesh = {"position": [[0, 0, 0], [1, 0, 0], [2, 0, 0]], "edges": [[0, 1], [1, 2]]}
    root.addChild("mesh").addObject("MeshTopology", name="net", **mesh)
    node.addObject("MeshSpringForceField", stiffness=1.0, topology="@/mesh/net")
    with pytest.raises(SceneError, match="has 2 in 'edges of /mesh/net', but there are 2 nodes"):
        run(root)


def test_lists_hold_an_entry_for_each_spring(joined, tolerant):
    """The last one goes on, entries too many are left out, and lengths that are not given are 0."""
    springs = joined(indices1=[0, 2], indices2=[1, 0], stiffness=[30], damping=[1, 2, 3])
    assert springs.stiffness.value.tolist() == [30.0, 30.0]
    assert springs.damping.value.tolist() == [1.0, 2.0]
    assert springs.lengths.value.tolist() == [0.0, 0.0]
    assert springs.enabled.value.tolist() == [1, 1]


def test_flags_beside_whole_springs_do_nothing_and_that_is_said(joined, tolerant, caplog):
    """As in SOFA, whose springs in one list have no flags."""
    springs = joined(spring=[[0, 1, 30, 0, 1], [2, 0, 50, 0, 0.5]], enabled=[0])
    assert "has 'enabled' beside 'spring', where it does nothing" in caplog.text
    assert springs.enabled.value.tolist() == [1, 1]
    assert springs.indices1.value.tolist() == [0, 2]
    assert springs.stiffness.value.tolist() == [30.0, 50.0]
    force = np.zeros((5, 3))
    springs.add_force(force)
    assert force.any()
