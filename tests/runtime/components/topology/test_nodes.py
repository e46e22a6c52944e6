"""Which vertices of a topology become nodes of the state beside it."""

import pytest

POINTS = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [5, 5, 5]]


@pytest.mark.parametrize(
    ("kind", "elements", "count"),
    [
        ("MeshTopology", {"triangles": [[0, 1, 2]]}, 3),
        ("MeshTopology", {"tetrahedra": [[0, 1, 2, 3]], "edges": [[0, 4]]}, 5),
        ("MeshTopology", {}, 5),
        ("TriangleSetTopologyContainer", {"triangles": [[0, 1, 2]]}, 5),
    ],
)
def test_a_mesh_topology_gives_no_node_after_the_last_used_vertex(root, kind, elements, count):
    """As in SOFA: its mesh/liver.obj has 181 vertices, and the state beside it 139 nodes."""
    root.addObject(kind, position=POINTS, **elements)
    state = root.addObject("MechanicalObject")
    root.init()
    assert len(state.position) == count


def test_a_state_with_the_positions_of_a_loader_has_all_of_them(root, tmp_path):
    """Not those of the topology beside it, as in SOFA: src="@loader" gives them."""
    file = tmp_path / "one.obj"
    file.write_text("".join(f"v {x} {y} {z}\n" for x, y, z in POINTS) + "f 1 2 3\n")
    root.addObject("MeshOBJLoader", name="loader", filename=str(file))
    root.addObject("MeshTopology", src="@loader")
    state = root.addObject("MechanicalObject", src="@loader")
    root.init()
    assert state.position.toList() == state.reset_position.toList() == POINTS


def test_a_grid_whose_position_links_to_its_state_gives_the_nodes(root):
    """As in SOFA's AffineMovementProjectiveConstraint.scn: the state, added first, has one node."""
    state = root.addObject("MechanicalObject", name="dofs")
    grid = root.addObject("RegularGridTopology", n=[3, 2, 2], position="@dofs.position")
    root.init()
    assert len(state.position) == len(grid.position) == 12
    assert state.position.toList()[-1] == [1.0, 1.0, 1.0]
