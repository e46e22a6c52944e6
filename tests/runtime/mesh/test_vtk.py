import struct

import numpy as np
import pytest

from sofa_softctl.errors import MeshError
from sofa_softctl.runtime.mesh.formats.vtk import read_vtk

# Doubles that only an exact reader keeps: a third, the smallest, the largest, minus zero.
POINTS = [[1 / 3, 5e-324, -0.0], [1.7976931348623157e308, 2.5, 3.0], [0.1, 0, 0], [7, 8, 9e-300]]
CELLS = [(10, [0, 1, 2, 3]), (5, [3, 1, 0]), (3, [2, 3]), (10, [3, 2, 1, 0])]
FLAT = [n for _, points in CELLS for n in (len(points), *points)]
TYPES = [cell_type for cell_type, _ in CELLS]


def text_file(dataset: str, *sections: str) -> bytes:
    head = ["# vtk DataFile Version 3.0", "a title", "ASCII", f"DATASET {dataset}"]
    return "\n".join([*head, *sections, ""]).encode()


def words(values) -> str:
    return " ".join(map(repr, np.ravel(values).tolist()))


def text_grid(points=POINTS, kind="double", flat=FLAT, types=TYPES) -> bytes:
    return text_file(
        "UNSTRUCTURED_GRID",
        f"POINTS {len(points)} {kind}",
        words(points),
        f"CELLS {len(types)} {len(flat)}",
        words(flat),
        f"CELL_TYPES {len(types)}",
        words(types),
    )


def binary_grid(order: str, kind: str = "double", newline: bytes = b"\n") -> bytes:
    points, letter = np.ravel(POINTS).tolist(), "d" if kind == "double" else "f"
    sections = [
        f"POINTS {len(POINTS)} {kind}".encode(),
        struct.pack(f"{order}{len(points)}{letter}", *points),
        b"",
        f"CELLS {len(CELLS)} {len(FLAT)}".encode(),
        struct.pack(f"{order}{len(FLAT)}i", *FLAT),
        b"",
        f"CELL_TYPES {len(TYPES)}".encode(),
        struct.pack(f"{order}{len(TYPES)}i", *TYPES),
        b"CELL_DATA 4",
        b"SCALARS CELLS int 1",
        b"\x00\xff not to be read",
    ]
    head = [b"# vtk DataFile Version 2.0", b"t\xff", b"BINARY", b"DATASET UNSTRUCTURED_GRID"]
    return newline.join(head + sections)


def assert_is_the_grid(mesh):
    assert mesh.positions.tobytes() == np.array(POINTS).tobytes()
    assert mesh.tetrahedra.tolist() == [[0, 1, 2, 3], [3, 2, 1, 0]]
    assert mesh.triangles.tolist() == [[3, 1, 0]]
    assert mesh.edges.tolist() == [[2, 3]]


def test_text_keeps_every_bit_and_the_order():
    assert_is_the_grid(read_vtk(text_grid(), "a.vtk"))


def test_windows_line_ends_make_no_difference():
    assert_is_the_grid(read_vtk(text_grid().replace(b"\n", b"\r\n"), "a.vtk"))
    assert_is_the_grid(read_vtk(binary_grid(">", newline=b"\r\n"), "a.vtk"))


@pytest.mark.parametrize("order", [">", "<"])
def test_binary_keeps_every_bit_in_either_byte_order(order):
    assert_is_the_grid(read_vtk(binary_grid(order), "a.vtk"))


def test_single_precision_text_is_rounded_as_sofa_rounds_it():
    mesh = read_vtk(text_grid([[0.1, 1 / 3, 2.0]], "float", [], []), "a.vtk")
    assert mesh.positions.tolist() == [[float(np.float32(x)) for x in (0.1, 1 / 3, 2.0)]]


def test_sections_may_come_in_any_order_with_others_between():
    data = text_file(
        "UNSTRUCTURED_GRID",
        "FIELD FieldData 1",
        "TIME 1 1 double",
        "0.5",
        "CELL_TYPES 1",
        "5",
        "CELLS 1 4",
        "3 0 1 2",
        "METADATA",
        "INFORMATION 0",
        "POINTS 3 float",
        "0 0 0 1 0 0 0 1 0",
    )
    assert read_vtk(data, "a.vtk").triangles.tolist() == [[0, 1, 2]]


def test_polygons_of_four_are_quads_and_larger_ones_fans():
    data = text_file(
        "POLYDATA",
        "POINTS 6 float",
        words(np.arange(18)),
        "VERTICES 1 2",
        "1 0",
        "LINES 1 3",
        "2 0 1",
        "POLYGONS 4 20",
        "3 0 1 2  4 0 1 2 3  5 1 2 3 4 5  3 2 1 0  0",
    )
    mesh = read_vtk(data.replace(b"POLYGONS 4 20", b"POLYGONS 5 20"), "a.vtk")
    assert mesh.quads.tolist() == [[0, 1, 2, 3]]
    assert mesh.triangles.tolist() == [[0, 1, 2], [1, 2, 3], [1, 3, 4], [1, 4, 5], [2, 1, 0]]
    assert len(mesh.edges) == 0  # LINES are polylines to SOFA


def test_little_endian_polygons_are_recognised_by_their_size():
    for order in "<>":
        data = b"\n".join(
            [
                b"# vtk DataFile Version 2.0\nt\nBINARY\nDATASET POLYDATA\nPOINTS 3 float",
                struct.pack(f"{order}9f", *range(9)),
                b"POLYGONS 1 4",
                struct.pack(f"{order}4i", 3, 2, 1, 0),
            ]
        )
        mesh = read_vtk(data, "a.vtk")
        assert mesh.triangles.tolist() == [[2, 1, 0]]
        assert mesh.positions.ravel().tolist() == list(range(9))


@pytest.mark.parametrize("encoding", ["ASCII", "BINARY"])
def test_offsets_and_connectivity_of_vtk_5_are_read(encoding):
    def numbers(values, letter):
        if encoding == "ASCII":
            return words(values).encode()
        return struct.pack(f">{len(values)}{letter}", *values)

    connectivity = [n for _, points in CELLS for n in points]
    offsets = np.cumsum([0, *(len(points) for _, points in CELLS)]).tolist()
    data = b"\n".join(
        [
            b"# vtk DataFile Version 5.1\nt\n" + encoding.encode(),
            b"DATASET UNSTRUCTURED_GRID\nPOINTS 4 double",
            numbers(np.ravel(POINTS).tolist(), "d"),
            f"CELLS {len(offsets)} {len(connectivity)}\nOFFSETS vtktypeint64".encode(),
            numbers(offsets, "q"),
            b"CONNECTIVITY vtktypeint64",
            numbers(connectivity, "q"),
            b"CELL_TYPES 4",
            numbers(TYPES, "i"),
        ]
    )
    assert_is_the_grid(read_vtk(data, "a.vtk"))


@pytest.mark.parametrize("keyword", ["POINT_DATA", "CELL_DATA"])
def test_names_of_data_that_look_like_sections_are_passed_over(keyword):
    data = text_grid() + f"{keyword} 4\nSCALARS CELLS int 1\nLOOKUP_TABLE POINTS\n".encode()
    assert_is_the_grid(read_vtk(data, "a.vtk"))


def test_points_without_cells_are_a_mesh():
    data = text_file("UNSTRUCTURED_GRID", "POINTS 1 int", "1 2 3")
    assert read_vtk(data, "a.vtk").positions.tolist() == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((b"# vtk", b"solid"), "expected '# vtk DataFile Version' or '<VTKFile' on the first line"),
        ((b"ASCII", b"Ascii?"), "expected ASCII or BINARY on the third line, got 'Ascii?'"),
        ((b"UNSTRUCTURED", b"STRUCTURED"), "or POLYDATA, got 'STRUCTURED_GRID'. Export it as an"),
        ((b"POINTS 4 double", b"POINTS 4 colour"), "POINTS of type float or double, got 'colour'"),
        ((b"POINTS 4 double", b"POINTS 4000000000000 double"), "numbers of POINTS, got"),
        ((b"POINTS 4 double", b"POINTS four double"), "expected the number of POINTS, got 'four'"),
        ((b"POINTS", b"PINTS"), "no POINTS were found"),
        ((b"0.1 ", b"0,1 "), "a number of POINTS is unreadable"),
        ((b"CELLS 4 ", b"CELLS 3 "), "expected 3 CELLS in 17 numbers, got 3 in 12"),
        ((b"CELL_TYPES 4", b"CELL_TYPES 3"), "4 CELL_TYPES, one for each cell, got 3"),
        ((b"CELL_TYPES", b"CELL_TIPES"), "4 CELL_TYPES, one for each cell, got none"),
        ((b"CELL_TYPES", b"TRIANGLE_STRIPS"), "TRIANGLE_STRIPS are not read"),
    ],
)
def test_what_is_wrong_is_told(change, message):
    with pytest.raises(MeshError) as raised:
        read_vtk(text_grid().replace(*change, 1), "a.vtk")
    assert str(raised.value).startswith("a.vtk: ")
    assert message in str(raised.value)


@pytest.mark.parametrize("data", [text_grid(), binary_grid(">")], ids=["text", "binary"])
def test_a_file_that_is_cut_short_says_so(data):
    with pytest.raises(MeshError, match=r"expected 12 numbers of POINTS, got \d+\. The file is cu"):
        read_vtk(data[: data.index(b"double") + 30], "a.vtk")
