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


def test_a_grid_answers_before_the_simulation_is_initialised(root):
    """Euler of a ball: V - E + F - C = 1 with the inner quads; what is set later counts."""
    grid = root.addObject("RegularGridTopology", n=[4, 3, 5], min=[0, 0, 0], max=[1, 1, 1])
    cells = 3 * 2 * 4
    assert (grid.getNbPoints(), grid.getNbHexahedra(), grid.getNbTetras()) == (60, cells, 0)
    diagonals = grid.getNbQuads()  # one in each quad
    assert grid.getNbPoints() - (grid.getNbLines() - diagonals) + diagonals - cells == 1
    assert grid.getNbTriangles() == 2 * grid.getNbQuads()
    assert len(grid.getHexahedron(0)) == 8
    grid.n = [2, 2, 2]
    assert (grid.getNbHexahedra(), grid.getNbQuads()) == (1, 6)
    assert len(grid.getQuadsInHexahedron(0)) == 6


def test_parts_and_neighbours_of_elements(ball, root):
    """Every part is in the element, and the element around every part; counts are each other's."""
    topology = ball()
    simulation.init(root)
    kinds = {"Edges": ("Edge", 6), "Triangles": ("Triangle", 4)}
    for parts, (part, count) in kinds.items():
        within = getattr(topology, f"get{parts}InTetrahedron")
        around = getattr(topology, f"getTetrahedraAround{part}")
        for number in range(topology.getNbTetrahedra()):
            corners = set(topology.getTetrahedron(number))
            found = within(number)
            assert len(found) == count
            for other in found:
                assert set(getattr(topology, f"get{part}")(other)) <= corners
                assert number in around(other)
    vertex = 5
    edges = topology.getEdgesAroundVertex(vertex)
    ends = {end for edge in edges for end in topology.getEdge(edge)}
    assert set(topology.getVerticesAroundVertex(vertex)) == ends - {vertex}
    tetrahedra = topology.getTetrahedraAroundVertex(vertex)
    assert all(vertex in topology.getTetrahedron(number) for number in tetrahedra)
    assert topology.getLocalEdgesInTetrahedron(0) == [0, 1]
    with pytest.raises(SceneError, match="has no element 999 among its 72 tetrahedra"):
        topology.getEdgesInTetrahedron(999)


def test_points_are_added_and_removed_by_a_script(root):
    """The last points take the places of those that are removed, as in SOFA."""
    root.addObject("DefaultAnimationLoop")
    root.addObject(
        "PointSetTopologyContainer", name="mesh", points=[[0, 0, 0], [1, 0, 0], [2, 0, 0]]
    )
    modifier = root.addObject("PointSetTopologyModifier")
    state = root.addObject("MechanicalObject")
    simulation.init(root)
    state.velocity = [[0, 0, 1]] * 3
    modifier.addPoints(2, True)
    assert state.position.value[:, 0].tolist() == [0, 1, 2, 0, 0]
    assert state.velocity.value[:, 2].tolist() == [1, 1, 1, 0, 0]
    modifier.removePoints([0], True)
    assert state.position.value[:, 0].tolist() == [0, 1, 2, 0]
    assert root.mesh.getNbPoints() == 4
    modifier.removePoints(np.array([1, 0]), False)
    assert (len(state.position), root.mesh.getNbPoints()) == (4, 2)
    simulation.animate(root, 0.01)


def test_points_that_something_counts_on_stay(root):
    root.addObject("EdgeSetTopologyContainer", position=[[0, 0, 0], [1, 0, 0]], edges=[[0, 1]])
    modifier = root.addObject("EdgeSetTopologyModifier")
    root.addObject("MechanicalObject")
    with pytest.raises(SceneError, match="cannot remove points that elements name"):
        modifier.removePoints([1], True)
    root.addObject("UniformMass", totalMass=1.0)
    with pytest.raises(SceneError, match="cannot change the number of nodes under UniformMass"):
        modifier.addPoints(1, True)
