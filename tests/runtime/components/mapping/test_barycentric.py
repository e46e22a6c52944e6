import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.helper.message import complaints
from sofa_softctl.runtime.simulation import simulation
from sofa_softctl.testing import check_mapping

B = np.array([[1.1, 0.2, -0.1], [0.0, 0.9, 0.3], [-0.2, 0.1, 1.2]])
SHIFT = np.array([1.0, -2.0, 3.0])


@pytest.fixture
def carried(root, integrated, grid):
    """Makes points that a box of tetrahedra, or its surface, carries."""

    def make(points, elements="tetrahedra", **values):
        x, tetrahedra = grid((2, 2, 2), (2.0, 2.0, 2.0))
        node = integrated(root, "body", x)
        kinds = {"tetrahedra": tetrahedra, "triangles": [[0, 2, 6], [0, 6, 18]], "edges": [[0, 1]]}
        node.addObject("MeshTopology", name="mesh", **{elements: np.array(kinds[elements])})
        node.addObject("UniformMass", name="mass", totalMass=1.0)
        child = node.addChild("points")
        child.addObject("MechanicalObject", name="dofs", position=np.asarray(points).tolist())
        return node, child.addObject("BarycentricMapping", **values)

    return make


def scattered(count=20, spread=1.5):
    return 1.0 + np.random.default_rng(0).uniform(-spread, spread, (count, 3))


def test_points_keep_their_place_when_nothing_moves(carried, root):
    """Inside and outside of the box."""
    points = scattered()
    _, mapping = carried(points)
    simulation.init(root)
    assert mapping.child.position.array() == pytest.approx(points, abs=1e-13)


def test_points_follow_an_affine_motion_exactly(carried, root):
    """x -> B x + c and v -> B v for the mesh does the same to every point: linear elements
    reproduce affine fields, also by extrapolation."""
    points = scattered()
    node, mapping = carried(points)
    simulation.init(root)
    node.dofs.position.value = node.dofs.position.array() @ B.T + SHIFT
    node.dofs.velocity.value = node.dofs.rest_position.array() @ B.T + SHIFT
    simulation.loop_of(root).propagate()
    assert mapping.child.position.array() == pytest.approx(points @ B.T + SHIFT, abs=1e-12)
    assert mapping.child.velocity.array() == pytest.approx(points @ B.T + SHIFT, abs=1e-12)


def test_weights_sum_to_one_and_have_no_sign_inside(carried, root):
    """A partition of unity; in [0, 1] for points in the box."""
    _, mapping = carried(scattered(spread=0.99))
    simulation.init(root)
    starts, nodes, weights = mapping.weights()
    assert np.diff(starts).tolist() == [4] * 20
    assert np.add.reduceat(weights, starts[:-1]) == pytest.approx(1.0, abs=1e-14)
    assert weights.min() > 0.0
    assert nodes.max() < 27


def test_velocities_and_forces_are_carried_by_the_derivative_of_the_places(carried, root):
    _, mapping = carried(scattered())
    simulation.init(root)
    check_mapping(mapping)
    force, parent_force = np.random.default_rng(1).uniform(-1.0, 1.0, (20, 3)), np.zeros((27, 3))
    mapping.add_jt(force, parent_force)
    assert parent_force.sum(axis=0) == pytest.approx(force.sum(axis=0), abs=1e-13)


@pytest.mark.parametrize(("rest", "expected"), [(False, 0.5), (True, 1.0)])
def test_the_elements_are_sought_where_the_bodies_are_or_at_rest(rest, expected, carried, root):
    """The body starts at twice its rest size. A point at 0.5 is in the first quarter of the body's
    present width; with useRestPosition its place is sought in the rest shape, so that it starts
    where that place is now, at 1."""
    node, mapping = carried([[0.5, 0.5, 0.5]], useRestPosition=rest)
    node.dofs.rest_position.value = node.dofs.position.array()
    node.dofs.position.value = 2.0 * node.dofs.position.array()
    simulation.init(root)
    assert mapping.child.position.array() == pytest.approx(np.full((1, 3), expected))


def test_a_surface_carries_the_projection_of_points(carried, root):
    """Triangles of the plane x = 0 move by c: points near it move along, projected."""
    points = np.array([[0.005, 0.5, 1.0], [-0.005, 1.5, 0.3]])
    node, mapping = carried(points, "triangles")
    simulation.init(root)
    with node.dofs.position.writeable() as x:
        x += SHIFT
    simulation.loop_of(root).propagate()
    expected = points * [0.0, 1.0, 1.0] + SHIFT
    assert mapping.child.position.array() == pytest.approx(expected, abs=1e-13)


def test_a_mesh_without_elements_is_an_error(carried, root):
    carried(scattered(), "edges")
    with pytest.raises(SceneError, match="finds neither tetrahedra nor triangles in .*mesh"):
        simulation.init(root)


def test_a_point_far_from_all_elements_is_an_error(carried, root):
    carried([[1.0, 1.0, 1.0], [2e5, 0.0, 0.0]])
    with pytest.raises(SceneError, match="finds no element near 1 of 2 nodes, first node 1"):
        simulation.init(root)


@pytest.fixture
def alone(root, integrated):
    """A falling body, and points that are to follow it although it has no topology."""
    body = integrated(root, "body", np.zeros((2, 3)))
    body.addObject("UniformMass", totalMass=1.0)
    child = body.addChild("points")
    child.addObject("MechanicalObject", name="dofs", position=[[1, 2, 3]])
    child.addObject("BarycentricMapping")
    return child.dofs


def test_no_topology_is_an_error(root, alone):
    with pytest.raises(SceneError, match="needs a topology beside"):
        simulation.init(root)


def test_points_of_no_topology_stay_where_warnings_suffice(root, alone, tolerant):
    """SOFA v25.06: 'No input topology found', and a mapping that does nothing."""
    root.gravity = [0.0, -10.0, 0.0]
    with complaints() as found:
        simulation.init(root)
    assert "needs a topology beside" in str(found[0])
    for _ in range(3):
        simulation.animate(root)
    assert root.body.dofs.position.value[0, 1] < 0.0
    assert alone.position.value.tolist() == [[1.0, 2.0, 3.0]]
    assert alone.velocity.value.tolist() == [[0.0, 0.0, 0.0]]
