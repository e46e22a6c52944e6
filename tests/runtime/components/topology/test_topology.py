import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation

KINDS = ["MeshTopology", "TetrahedronSetTopologyContainer"]


@pytest.fixture
def ball(root, grid):
    """Makes a topology of 3 x 2 x 2 cells."""

    def make(kind="MeshTopology"):
        points, tetrahedra = grid((3, 2, 2), (3.0, 2.0, 2.0))
        return root.addObject(kind, position=points.tolist(), tetrahedra=tetrahedra.tolist())

    return make


@pytest.mark.parametrize("kind", KINDS)
def test_a_solid_without_holes_has_the_euler_characteristic_of_a_ball(kind, ball, root):
    """V - E + F - T = 1, with edges and triangles derived from the tetrahedra."""
    topology = ball(kind)
    simulation.init(root)
    counts = [
        getattr(topology, f"getNb{name}")()
        for name in ("Points", "Edges", "Triangles", "Tetrahedra")
    ]
    assert np.dot(counts, [1, -1, 1, -1]) == 1
    assert counts[3] == 6 * 12


def test_derived_parts_are_listed_once_and_belong_to_an_element(ball, root):
    """Every edge and every face of a tetrahedron, in any order of vertices, and no other."""
    topology = ball()
    simulation.init(root)
    every = {"edges": set(), "triangles": set()}
    for element in topology.tetrahedra.array().tolist():
        for i in range(4):
            every["triangles"].add(frozenset(element[:i] + element[i + 1 :]))
            every["edges"].update(frozenset((element[i], element[j])) for j in range(i))
    for kind, expected in every.items():
        found = [frozenset(part) for part in topology.elements(kind).tolist()]
        assert len(found) == len(set(found))
        assert set(found) == expected


def test_faces_on_the_surface_sum_to_the_surface(ball, root):
    """Faces of one tetrahedron only: their areas are those of the box, 2 (3 2 + 3 2 + 2 2)."""
    topology = ball()
    simulation.init(root)
    points = topology.position.array()
    faces = np.sort(topology.tetrahedra.array()[:, [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]])
    unique, counts = np.unique(faces.reshape(-1, 3), axis=0, return_counts=True)
    assert len(topology.elements("triangles")) == len(unique)
    a, b, c = points[unique[counts == 1]].transpose(1, 0, 2)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2.0
    assert area == pytest.approx(32.0)


def test_edges_of_triangles_are_derived_too(root):
    """Two triangles with a side in common have five edges."""
    topology = root.addObject(
        "MeshTopology", position=np.zeros((4, 3)).tolist(), triangles=[[0, 1, 2], [0, 2, 3]]
    )
    simulation.init(root)
    assert topology.elements("edges").tolist() == [[1, 2], [2, 0], [0, 1], [2, 3], [3, 0]]


def test_given_parts_are_kept(root):
    """A file that lists only some edges keeps these, as in SOFA."""
    topology = root.addObject(
        "MeshTopology", position=np.zeros((4, 3)).tolist(), tetrahedra=[[0, 1, 2, 3]],
        edges=[[2, 3]], triangles=[[3, 2, 1]],
    )  # fmt: skip
    simulation.init(root)
    assert topology.elements("edges").tolist() == [[2, 3]]
    assert topology.elements("triangles").tolist() == [[3, 2, 1]]


@pytest.mark.parametrize("bad", [4, -1])
def test_a_vertex_that_does_not_exist_is_an_error_that_names_the_element(bad, root):
    root.addObject(
        "MeshTopology", position=np.zeros((4, 3)).tolist(),
        tetrahedra=[[0, 1, 2, 3], [0, 1, 2, bad]],
    )  # fmt: skip
    message = rf"1 of 2 tetrahedra .*first tetrahedra\[1\] = \[0, 1, 2, {bad}\]; there are 4"
    with pytest.raises(SceneError, match=message):
        simulation.init(root)
