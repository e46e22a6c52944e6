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
