import numpy as np
import pytest

from sofa_softctl.errors import MeshError
from sofa_softctl.runtime.mesh.formats.stl import FACET, read_stl

# Two triangles that share two points, one of them written as -0 in the second.
FACETS = [
    [[0.0, 0.0, 0.0], [1.5, 0.0, 0.0], [0.0, 1 / 3, 0.0]],
    [[1.5, -0.0, 0.0], [2.0, 2.0, 0.0], [0.0, 1 / 3, 0.0]],
]
THIRD = float(np.float32(1 / 3))


def text(facets=FACETS, name: str = "part") -> bytes:
    lines = [f"solid {name}"]
    for facet in facets:
        lines += ["  facet normal 0 0 1", "    outer loop"]
        lines += [f"      vertex {x!r} {y!r} {z!r}" for x, y, z in facet]
        lines += ["    endloop", "  endfacet"]
    return "\n".join([*lines, f"endsolid {name}", ""]).encode()


def binary(facets=FACETS, header: bytes = b"made by hand") -> bytes:
    rows = np.zeros(len(facets), FACET)
    rows["vertices"] = np.reshape(facets, (-1, 3, 3))
    rows["attribute"] = 7
    return header.ljust(80, b" ") + len(facets).to_bytes(4, "little") + rows.tobytes()


@pytest.mark.parametrize("data", [text(), binary(), binary(header=b"solid but binary")])
def test_equal_points_are_merged_in_the_order_of_their_appearance(data):
    mesh = read_stl(data, "a.stl")
    assert mesh.positions.tolist() == [[0, 0, 0], [1.5, 0, 0], [0, THIRD, 0], [2, 2, 0]]
    assert mesh.triangles.tolist() == [[0, 1, 2], [1, 3, 2]]


@pytest.mark.parametrize("data", [text(), binary()])
def test_without_merging_each_triangle_has_its_own_points(data):
    mesh = read_stl(data, "a.stl", merge=False)
    assert mesh.positions.tolist() == np.float32(FACETS).reshape(-1, 3).tolist()
    assert mesh.triangles.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_the_first_of_equal_points_is_the_one_that_stays():
    mesh = read_stl(binary(FACETS[::-1]), "a.stl")
    assert np.signbit(mesh.positions[0]).tolist() == [False, True, False]


def test_merging_agrees_with_a_search_through_all_points():
    rng = np.random.default_rng(0)
    facets = rng.integers(0, 3, (60, 3, 3)).astype(float)
    points, triangles = [], []
    for facet in facets.tolist():
        for point in facet:
            if point not in points:
                points.append(point)
        triangles.append([points.index(point) for point in facet])
    mesh = read_stl(text(facets.tolist()), "a.stl")
    assert mesh.positions.tolist() == points
    assert mesh.triangles.tolist() == triangles


def test_triangles_that_collapse_are_dropped_from_binary_files_as_sofa_does():
    facets = [FACETS[0], [FACETS[0][0], FACETS[0][1], FACETS[0][0]], FACETS[1]]
    assert read_stl(binary(facets), "a.stl").triangles.tolist() == [[0, 1, 2], [1, 3, 2]]
    assert len(read_stl(text(facets), "a.stl").triangles) == 3


def test_keywords_may_be_upper_case_and_names_may_be_keywords():
    assert len(read_stl(text().upper(), "a.stl").triangles) == 2
    assert len(read_stl(text(name="vertex facet"), "a.stl").triangles) == 2


def test_a_solid_without_facets_is_an_empty_mesh():
    assert len(read_stl(text([]), "a.stl").positions) == 0
    assert len(read_stl(binary([]), "a.stl").positions) == 0


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (text()[:-14], "expected 'endsolid' at the end, got none. The file is cut short"),
        (text()[:-20], "expected 'endsolid' at the end, got none. The file is cut short"),
        (text().replace(b"    endloop\n  endfacet\n", b"", 1), "line 7: expected facets of three"),
        (text().replace(b"vertex 1.5 0.0 0.0", b"vertex 1.5 0.0", 1), "got '      vertex 1.5 0.0'"),
        (text().replace(b"1.5", b"1.5mm"), "a number of a vertex is unreadable"),
        (text() + text(), "a second solid begins before line 18. SOFA reads the first only"),
        (binary()[:-1], "or a binary STL file of 184 bytes for its 2 facets, got 183 bytes"),
        (b"# vtk DataFile", "expected an STL file, got 14 bytes: '# vtk DataFile'"),
    ],
)
def test_what_is_wrong_is_told(data, message):
    with pytest.raises(MeshError) as raised:
        read_stl(data, "a.stl")
    assert str(raised.value).startswith("a.stl: ")
    assert message in str(raised.value)
