import pytest

from sofa_softctl.errors import MeshError
from sofa_softctl.runtime.mesh.formats.obj import read_obj

VERTICES = b"""# a comment
mtllib none.mtl
o thing
v 0.1 0 0 1.0
v 1 0 0
v 1 1 0 # 0.5 0.5 0.5
vn 0 0 1
vt 0.5 0.5
v 0 1 0
v 0 2 5e-324
"""


def test_vertices_and_faces_come_in_the_order_of_the_file():
    data = (
        VERTICES
        + b"g a\nf 1 2 3\ns off\nf 1/1 2/1 3/1 4/1\nf 3//1 2//1 1//1\nf 1/1/1 4/1/1 5/1/1\n"
    )
    mesh = read_obj(data, "a.obj")
    assert mesh.positions.tolist() == [
        [0.1, 0, 0],
        [1, 0, 0],
        [1, 1, 0],
        [0, 1, 0],
        [0, 2, 5e-324],
    ]
    assert mesh.triangles.tolist() == [[0, 1, 2], [2, 1, 0], [0, 3, 4]]
    assert mesh.quads.tolist() == [[0, 1, 2, 3]]


def test_larger_faces_are_cut_into_fans():
    mesh = read_obj(VERTICES + b"f 5 1 2 3 4\n", "a.obj")
    assert mesh.triangles.tolist() == [[4, 0, 1], [4, 1, 2], [4, 2, 3]]


def test_negative_indices_count_back_from_the_last_vertex_so_far():
    mesh = read_obj(VERTICES + b"f -1 -2 -3\nv 9 9 9\nf -1 -2 1\n", "a.obj")
    assert mesh.triangles.tolist() == [[4, 3, 2], [5, 4, 0]]


def test_two_vertices_are_an_edge_lower_index_first():
    mesh = read_obj(VERTICES + b"l 1 2\r\nl 5 4\r\nf 3 2\r\n", "a.obj")
    assert mesh.edges.tolist() == [[0, 1], [3, 4], [1, 2]]


def test_faces_may_come_before_their_vertices():
    assert read_obj(b"f 1 2 3\n" + VERTICES, "a.obj").triangles.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            VERTICES + b"f 1 0 2",
            "line 11: expected the number of a vertex, counted from 1, got '0'",
        ),
        (
            VERTICES + b"f 1 b 2",
            "line 11: expected the number of a vertex, counted from 1, got 'b'",
        ),
        (VERTICES + b"l 1 2 3", "line 11: expected two vertices in 'l', got more. SOFA takes"),
        (VERTICES + b"v 1 2", "line 11: expected 3 coordinates, got 'v 1 2'"),
        (VERTICES + b"v 1 2 x", "a number of a vertex is unreadable"),
        (b"solid part\n", "expected lines 'v x y z', got none: 'solid part'"),
    ],
)
def test_what_is_wrong_is_told(data, message):
    with pytest.raises(MeshError) as raised:
        read_obj(data, "a.obj")
    assert str(raised.value).startswith("a.obj: ")
    assert message in str(raised.value)
