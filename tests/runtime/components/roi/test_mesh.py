"""MeshROI: points and elements inside a closed surface."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.simulation import simulation

TETRAHEDRON = [[0, 0, 0], [3, 0, 0], [0, 3, 0], [0, 0, 3]]
FACES = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]


@pytest.fixture
def region(root):
    """Makes a MeshROI beside a state of the given points."""

    def make(points, surface=TETRAHEDRON, triangles=FACES, edges=(), **values):
        node = root.addChild("body")
        node.addObject("MeshTopology", position=points, edges=edges)
        node.addObject("MechanicalObject", name="dofs")
        given = {"ROIposition": surface, "ROItriangles": triangles, **values}
        roi = node.addObject("MeshROI", name="roi", **given)
        simulation.init(root)
        return roi

    return make


def test_points_inside_a_tetrahedron_are_those_of_its_inequalities(region):
    """x, y, z > 0 and x + y + z < 3, for random points: the surface is not as its box."""
    points = np.random.default_rng(0).uniform(-0.5, 3.5, (400, 3))
    inside = (points > 0.0).all(axis=1) & (points.sum(axis=1) < 3.0)
    assert 10 < inside.sum() < 100
    roi = region(points.tolist())
    assert roi.indices.value.tolist() == np.flatnonzero(inside).tolist()
    assert roi.indicesOut.value.tolist() == np.flatnonzero(~inside).tolist()


def test_it_does_not_matter_which_way_triangles_face(region):
    turned = [FACES[0], FACES[1][::-1], FACES[2], FACES[3][::-1]]
    roi = region([[0.5, 0.6, 0.7], [2.0, 2.1, 2.2]], triangles=turned)
    assert roi.indices.value.tolist() == [0]


def test_what_is_in_a_hollow_is_outside(region):
    """A surface within another: a ray out of the hollow crosses both."""
    inner = 0.9 + 0.2 * np.array(TETRAHEDRON)
    outer = -3.0 + 6.0 * np.array(TETRAHEDRON)
    both = [*FACES, *(np.array(FACES) + 4).tolist()]
    roi = region([[1.0, 1.05, 1.1], [0.5, 0.55, 0.6]], np.vstack([outer, inner]).tolist(), both)
    assert roi.indices.value.tolist() == [1]


def test_the_box_is_that_of_the_surface(region):
    shifted = (np.array(TETRAHEDRON) - [1, 2, 0]).tolist()
    roi = region([[0.0, 0.0, 0.1]], shifted)
    assert roi.box.value.tolist() == [-1.0, -2.0, 0.0, 2.0, 1.0, 3.0]


@pytest.mark.parametrize(("strict", "edges"), [(False, [0, 1]), (True, [0])])
def test_an_element_is_inside_with_its_vertices_or_its_centre(region, strict, edges):
    """Of three edges one lies inside, one has its centre inside; strict is off by default."""
    points = [[0.2, 0.3, 0.4], [0.5, 0.6, 0.7], [-0.1, 0.3, 0.35], [3.0, 3.1, 3.2]]
    pairs = [[0, 1], [1, 2], [1, 3]]
    values = {"strict": True} if strict else {}
    roi = region(points, edges=pairs, **values)
    assert roi.edgeIndices.value.tolist() == edges
    assert roi.edgesInROI.value.tolist() == [pairs[k] for k in edges]


def test_vertices_inside_count_where_the_centre_is_not(region):
    """In two separate tetrahedra, an edge from one to the other."""
    two = [*TETRAHEDRON, *(np.array(TETRAHEDRON) + 10).tolist()]
    both = [*FACES, *(np.array(FACES) + 4).tolist()]
    points = [[0.5, 0.6, 0.7], [10.5, 10.6, 10.7]]
    assert region(points, two, both, edges=[[0, 1]]).edgeIndices.value.tolist() == [0]


def test_without_the_mesh_all_is_inside(region):
    """As in SOFA, which does not look at the box then either."""
    roi = region([[0.5, 0.5, 0.5], [50.0, 0, 0]], computeMeshROI=False)
    assert roi.indices.value.tolist() == [0, 1]


def test_points_that_move_are_looked_at_again(root, region):
    """`position` may link to where the state is; `doUpdate` False keeps the first answer."""
    points = [[0.5, 0.6, 0.7], [5.0, 0.6, 0.7]]
    roi = region(points, position="@dofs.position")
    other = roi.getContext().addObject(
        "MeshROI", ROIposition=TETRAHEDRON, ROItriangles=FACES, position="@dofs.position",
        doUpdate=False,
    )  # fmt: skip
    other.init()
    roi.getContext().dofs.position.value = points[::-1]
    assert roi.indices.value.tolist() == [1]
    assert other.indices.value.tolist() == [0]


def test_a_surface_that_moves_is_looked_at_within_its_first_box(region):
    """As in SOFA: the triangles are those of now, the box that of the start."""
    roi = region([[0.5, 0.6, 0.7], [2.5, 0.1, 0.2], [3.5, 0.1, 0.2]])
    roi.ROIposition.value = (np.array(TETRAHEDRON) + [1.5, 0, 0]).tolist()
    assert roi.indices.value.tolist() == [1]


def test_without_a_surface_it_is_that_of_the_node(root, monkeypatch):
    """Its state's rest position with its topology's triangles, with a warning."""
    said = []
    monkeypatch.setattr(message, "warning", lambda sender, text: said.append(text))
    node = root.addChild("body")
    points = [*TETRAHEDRON, [0.5, 0.6, 0.7], [2.0, 2.1, 2.2]]
    node.addObject("MeshTopology", position=TETRAHEDRON, triangles=FACES)
    node.addObject("MechanicalObject", position=points)
    roi = node.addObject("MeshROI")
    simulation.init(root)
    assert 4 in roi.indices.value and 5 not in roi.indices.value
    assert "has no 'ROIposition'" in said[0]


def test_a_surface_of_a_loader_is_taken_by_a_link(root, tmp_path):
    file = tmp_path / "tetrahedron.obj"
    lines = [f"v {x} {y} {z}" for x, y, z in TETRAHEDRON]
    lines += ["f " + " ".join(str(k + 1) for k in face) for face in FACES]
    file.write_text("\n".join(lines) + "\n")
    node = root.addChild("body")
    node.addObject("MechanicalObject", position=[[0.5, 0.6, 0.7], [2.0, 2.1, 2.2]])
    below = node.addChild("region")
    below.addObject("MeshOBJLoader", name="loader", filename=str(file))
    roi = below.addObject(
        "MeshROI", position="@../MechanicalObject.rest_position",
        ROIposition="@loader.position", ROItriangles="@loader.triangles",
    )  # fmt: skip
    simulation.init(root)
    assert roi.indices.value.tolist() == [0]


def test_a_triangle_of_the_surface_without_its_vertex_is_an_error(root):
    root.addObject("MechanicalObject", position=[[0.2, 0.2, 0.0]])
    values = {"ROIposition": [[0, 0, 0], [1, 0, 0], [0, 1, 0]], "ROItriangles": [[0, 1, 77]]}
    root.addObject("MeshROI", **values)
    with pytest.raises(SceneError, match="looks at ROItriangles of vertex 77, but at 3 positions"):
        root.init()
