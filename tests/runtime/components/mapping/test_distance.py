"""DistanceMapping: lengths of edges as coordinates; its motion in SOFA is in tests/parity."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation
from sofa_softctl.testing import check_jacobian

POINTS = np.array([[0.0, 0, 0], [1, 0.2, 0], [1.5, 1, 0.3], [0.2, 1, 1]])
EDGES = [[0, 1], [1, 2], [3, 2], [0, 2]]


@pytest.fixture
def measured(root):
    """Makes four nodes and the lengths of edges between them."""

    def make(edges=EDGES, points=POINTS, template="Vec3", **values):
        node = root.addChild("body")
        node.addObject("EulerImplicitSolver")
        node.addObject("SparseLDLSolver")
        node.addObject("MeshTopology", name="mesh", position=POINTS, edges=edges)
        node.addObject("MechanicalObject", name="dofs", template=template, position=points)
        node.addObject("UniformMass", totalMass=1.0)
        child = node.addChild("lengths")
        child.addObject("MechanicalObject", name="dofs", template="Vec1")
        mapping = child.addObject("DistanceMapping", topology="@../mesh", **values)
        simulation.init(root)
        return mapping

    return make


def at(mapping, x):
    out = np.zeros((len(EDGES), 1))
    mapping.apply(x, out)
    return out


def test_the_jacobian_is_the_derivative(measured):
    mapping = measured()
    J = mapping.jacobian().toarray()[: len(EDGES)]
    check_jacobian(lambda x: at(mapping, x), J, POINTS)
    at(mapping, POINTS)
    v, f = np.random.default_rng(1).normal(size=(4, 3)), np.arange(1.0, 5.0)[:, None]
    out, back = np.zeros((4, 1)), np.zeros((4, 3))
    mapping.apply_j(v, out)
    mapping.add_jt(f, back)
    assert out.ravel() == pytest.approx(J @ v.ravel(), rel=1e-13)
    assert back.ravel() == pytest.approx(J.T @ f.ravel(), rel=1e-13)


def test_the_stiffness_is_the_derivative_of_the_forces(measured):
    """K = -d(J^T f)/dx for constant f, of either sign."""
    mapping = measured(geometricStiffness="Exact")
    force = np.array([[2.0], [-1.0], [3.0], [-0.5]])
    mapping.child.force.set(force)
    mapping.geometric.update(0.0)

    def forces(x):
        at(mapping, x)
        found = np.zeros((4, 3))
        mapping.add_jt(force, found)
        return -found

    K = mapping.geometric.assemble_csr(1.0).toarray()
    check_jacobian(forces, K, POINTS)
    v, out = np.random.default_rng(1).normal(size=(4, 3)), np.zeros((4, 3))
    mapping.geometric.add_product(out, v, 2.0)
    assert out.ravel() == pytest.approx(2.0 * K @ v.ravel(), rel=1e-12)


def test_the_stabilized_stiffness_is_positive(measured):
    """That of edges which pull alone: the second and the fourth."""
    mapping = measured()
    mapping.child.force.set(np.array([[2.0], [-1.0], [3.0], [-0.5]]))
    mapping.geometric.update(0.0)
    values = np.linalg.eigvalsh(mapping.geometric.assemble_csr(1.0).toarray())
    assert values.min() > -1e-12
    assert (values > 1e-6).sum() == 4  # two directions across each


def test_coordinates_are_lengths_less_those_at_rest(measured):
    lengths = np.linalg.norm(POINTS[np.array(EDGES)[:, 1]] - POINTS[np.array(EDGES)[:, 0]], axis=1)
    mapping = measured(restLengths=[0.5, 1.0, 0.0, 2.0])
    expected = lengths - [0.5, 1.0, 0.0, 2.0]
    assert mapping.child.position.value.ravel() == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(("distances", "factor"), [(False, 0.0), (True, 1.0)])
def test_rest_lengths_are_the_first_ones_or_none(distances, factor, measured):
    mapping = measured(computeDistance=distances)
    assert mapping.child.position.value.ravel() == pytest.approx(factor * mapping.length)


def test_nodes_that_meet_have_a_direction_all_the_same(measured):
    """SOFA's: equal in x, y and z; no stiffness."""
    points = POINTS.copy()
    points[1] = points[0]
    mapping = measured(points=points)
    assert mapping.direction[0] == pytest.approx(np.full(3, 3**-0.5))
    mapping.child.force.set(-np.ones((4, 1)))
    mapping.geometric.update(0.0)
    assert not mapping.geometric.blocks[0].any()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"edges": []}, "finds no edges in MeshTopology '/body/mesh'"),
        ({"points": POINTS[:3]}, "has an edge with node 3, but MechanicalObject"),
        ({"points": [[0.0]] * 4, "template": "Vec1"}, "It knows 'Vec3,Vec1', 'Rigid3,Vec1'"),
    ],
)
def test_what_cannot_be_measured_is_named(values, message, measured):
    with pytest.raises(SceneError, match=message):
        measured(**values)


@pytest.fixture
def held(root):
    """A chain whose lengths are held by multipliers."""
    root.addObject("FreeMotionAnimationLoop", name="loop", solveVelocityConstraintFirst=True)
    solver = root.addObject("GenericConstraintSolver", maxIterations=1000, tolerance=1e-12)
    node = root.addChild("body")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver")
    node.addObject("GenericConstraintCorrection")
    node.addObject("MeshTopology", name="mesh", position=POINTS, edges=EDGES)
    node.addObject("MechanicalObject", name="dofs", velocity=[[1.0, 2.0, -3.0]])
    node.addObject("UniformMass", totalMass=1.0)
    child = node.addChild("lengths")
    child.addObject("MechanicalObject", name="dofs", template="Vec1")
    child.addObject("DistanceMapping", name="mapping", topology="@../mesh")
    child.addObject("UniformLagrangianConstraint")
    simulation.init(root)
    return solver, node


def test_the_rows_on_a_state_are_its_constraint_data(held, root):
    """H = J on the nodes, and 1 on the lengths themselves, as SofaPython3 shows them."""
    _, node = held
    J = node.lengths.mapping.jacobian().toarray()[:4]
    simulation.animate(root, 0.01)
    assert node.dofs.constraint.value.toarray() == pytest.approx(J, rel=1e-14)
    assert node.lengths.dofs.constraint.value.toarray().tolist() == np.eye(4).tolist()


def test_violations_of_velocities_are_those_of_positions_by_dt(held, root):
    """Then W = J M^-1 J^T, without dt."""
    solver, node = held
    J = node.lengths.mapping.jacobian().toarray()[:4]
    simulation.animate(root, 0.01)
    assert solver.W() == pytest.approx(J @ J.T / 0.25, rel=1e-12)


def test_other_constraints_are_not_known_by_velocity(held, root):
    _, node = held
    node.addObject("FixedLagrangianConstraint", indices=[0]).init()
    with pytest.raises(SceneError, match="solveVelocityConstraintFirst=True with FixedLagrangian"):
        simulation.animate(root, 0.01)
