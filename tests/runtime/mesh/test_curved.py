"""Middle nodes of 10-node tetrahedra on a given surface."""

import numpy as np
import pytest

from sofa_softctl.errors import MeshError
from sofa_softctl.runtime.mesh.checks import volumes
from sofa_softctl.runtime.mesh.curved import curve, quadratic_mesh
from sofa_softctl.runtime.mesh.mesh import Mesh
from sofa_softctl.runtime.mesh.quadratic import quadratic_jacobians
from sofa_softctl.runtime.mesh.split import split

RADIUS = 10.0
BALL_VOLUME = 4.0 / 3.0 * np.pi * RADIUS**3


@pytest.fixture
def ball(box):
    """Makes a ball of tetrahedra, with some nodes along each edge of the cube that it was."""

    def make(count):
        positions, tetrahedra = box(count, count, count, size=(2.0, 2.0, 2.0))
        x = positions - 1.0
        length = np.linalg.norm(x, axis=1)
        scale = RADIUS * np.abs(x).max(axis=1) / np.where(length > 0.0, length, 1.0)
        return Mesh(x * scale[:, None], tetrahedra=tetrahedra)

    return make


def quadratic_volume(mesh):
    nodes = np.column_stack([mesh.tetrahedra, mesh.middles])
    return np.linalg.det(quadratic_jacobians(mesh.positions, nodes)).mean(axis=1).sum() / 6.0


def added(linear, mesh):
    return np.arange(len(linear.positions), len(mesh.positions))


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [1, 0, 2, 3]], ids=["positive", "negative"])
def test_new_nodes_on_a_sphere_give_its_volume(ball, order):
    """To 1 %, where flat faces lose 12 %; all new nodes of edges on the skin are on the sphere.

    The order of corners, positive or negative volumes, makes no difference.
    """
    sign = 1.0 if order[0] == 0 else -1.0
    linear = Mesh(ball(4).positions, tetrahedra=ball(4).tetrahedra[:, order])
    mesh = quadratic_mesh(linear)
    surface = ball(20)
    curved = curve(mesh, surface, tolerance=0.05, movable=added(linear, mesh))
    assert sign * volumes(linear).sum() < 0.9 * BALL_VOLUME
    assert sign * quadratic_volume(curved.mesh) == pytest.approx(BALL_VOLUME, rel=0.01)
    distance = np.linalg.norm(curved.mesh.positions, axis=1)
    moved = (curved.mesh.positions != mesh.positions).any(axis=1)
    assert curved.moved == moved.sum() == 162 and curved.distant == curved.refused == 0
    assert distance[moved].min() > 0.99 * RADIUS
    assert 0.1 < curved.offset_max < 0.25
    assert (sign * volumes(split(curved.mesh)) > 0.0).all()


def test_nodes_whose_edge_does_not_end_on_the_surface_stay(ball):
    linear = ball(4)
    mesh = quadratic_mesh(linear)
    larger = Mesh(1.2 * ball(20).positions, tetrahedra=ball(20).tetrahedra)
    curved = curve(mesh, larger, tolerance=0.05, movable=added(linear, mesh))
    assert (curved.moved, curved.distant, curved.refused) == (0, 162, 0)
    np.testing.assert_array_equal(curved.mesh.positions, mesh.positions)


def test_nodes_of_the_file_stay_where_they_are(ball):
    mesh = quadratic_mesh(ball(4))
    curved = curve(mesh, ball(20), tolerance=0.05, movable=np.empty(0, int))
    assert (curved.moved, curved.distant, curved.refused) == (0, 0, 0)


@pytest.mark.parametrize(
    ("height", "depth", "refused"),
    [(1.0, 0.2, 0), (1.0, 0.3, 1), (0.1, 0.2, 1)],
    ids=["sound", "far", "folded"],
)
def test_a_node_stays_where_it_would_fold_an_element_or_be_far(height, depth, refused):
    """A ridge of the surface lies inside the tetrahedron, `depth` above the middle of an edge."""
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0.5, 1, 0], [0.5, 0.5, height]])
    mesh = quadratic_mesh(Mesh(corners, tetrahedra=[[0, 1, 2, 3]]))
    ridge = np.array([[0, 0, 0], [0.45, 0, depth], [0.55, 0, depth], [1, 0, 0]])
    points = np.concatenate([ridge - [0, 0.01, 0], ridge + [0, 0.01, 0]])
    triangles = [[k, k + 1, k + 4] for k in range(3)] + [[k + 1, k + 5, k + 4] for k in range(3)]
    surface = Mesh(points, triangles=triangles)
    curved = curve(mesh, surface, tolerance=0.05, movable=np.arange(4, 10))
    assert (curved.moved, curved.refused, curved.distant) == (1 - refused, refused, 5)


def test_a_mesh_of_eighths_and_a_surface_without_area_are_refused(ball):
    mesh = quadratic_mesh(ball(3))
    with pytest.raises(MeshError, match="in eighths of 48 10-node tetrahedra already"):
        quadratic_mesh(split(mesh))
    with pytest.raises(MeshError, match="no triangles with an area"):
        curve(mesh, Mesh(np.eye(3)), tolerance=0.05, movable=np.arange(3))


def test_far_and_folding_nodes_of_a_file_are_refused(ball):
    mesh = quadratic_mesh(ball(3))
    x = mesh.positions.copy()
    a, b = mesh.tetrahedra[5, :2]
    x[mesh.middles[5, 0]] += 0.3 * (x[b] - x[a])
    far = Mesh(x, tetrahedra=mesh.tetrahedra, middles=mesh.middles)
    with pytest.raises(MeshError, match="The mesh has 1 nodes of 10-node tetrahedra"):
        quadratic_mesh(far)
