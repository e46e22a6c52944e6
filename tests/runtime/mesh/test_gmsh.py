import struct

import numpy as np
import pytest

from sofa_softctl.errors import MeshError
from sofa_softctl.runtime.mesh.formats.gmsh import read_gmsh

POINTS = [[1 / 3, 5e-324, -0.0], [1e308, 2.5, 3.0], [0.1, 0, 0], [7, 8, 9e-300]]
# Gmsh's type and the points, counted from 0.
ELEMENTS = [(15, [0]), (1, [2, 3]), (4, [0, 1, 2, 3]), (2, [3, 1, 0]), (4, [3, 2, 1, 0])]


def text_2(tags=(1, 2, 3, 4), elements=ELEMENTS, version: str = "2.2") -> bytes:
    lines = ["$MeshFormat", f"{version} 0 8", "$EndMeshFormat", "$PhysicalNames", "1"]
    lines += ['3 1 "the $Nod of it"', "$EndPhysicalNames", "$Nodes", str(len(POINTS))]
    lines += [f"{t} {x!r} {y!r} {z!r}" for t, (x, y, z) in zip(tags, POINTS, strict=True)]
    lines += ["$EndNodes", "$Elements", str(len(elements))]
    for number, (kind, points) in enumerate(elements, 1):
        labels = [7] * (number % 3)
        at = [tags[p] for p in points]
        lines.append(" ".join(map(str, [number, kind, len(labels), *labels, *at])))
    return "\n".join([*lines, "$EndElements", ""]).encode()


def binary_2(order: str) -> bytes:
    parts = [b"$MeshFormat\n2.2 1 8\n", struct.pack(f"{order}i", 1), b"\n$EndMeshFormat\n"]
    parts.append(b"$Nodes\n4\n")
    parts += [struct.pack(f"{order}i3d", tag, *xyz) for tag, xyz in enumerate(POINTS, 1)]
    parts.append(b"\n$EndNodes\n$Elements\n5\n")
    for kind, points in ELEMENTS:
        at = [p + 1 for p in points]
        parts.append(struct.pack(f"{order}{6 + len(at)}i", kind, 1, 2, 99, 7, 8, *at))
    return b"".join([*parts, b"\n$EndElements\n"])


def file_41(order: str | None, tags=(1, 2, 3, 4), elements=ELEMENTS) -> bytes:
    """Version 4.1; text if there is no byte order. Points in two blocks, the second parametric."""

    def ints(*values):
        return text(values) if order is None else struct.pack(f"{order}{len(values)}i", *values)

    def sizes(*values):
        return text(values) if order is None else struct.pack(f"{order}{len(values)}Q", *values)

    def doubles(*values):
        return text(values) if order is None else struct.pack(f"{order}{len(values)}d", *values)

    def text(values):
        return (" ".join(map(repr, values)) + "\n").encode()

    head = f"$MeshFormat\n4.1 {0 if order is None else 1} 8\n".encode()
    parts = [head, b"" if order is None else ints(1) + b"\n", b"$EndMeshFormat\n$Nodes\n"]
    parts += [sizes(2, 4, 1, 4), ints(3, 1, 0), sizes(3), *(sizes(t) for t in tags[:3])]
    parts += [doubles(*xyz) for xyz in POINTS[:3]]
    parts += [ints(2, 1, 1), sizes(1), sizes(tags[3]), doubles(*POINTS[3], 0.25, 0.75)]
    parts += [b"\n$EndNodes\n$Elements\n", sizes(len(elements), len(elements), 1, 9)]
    for number, (kind, points) in enumerate(elements, 1):
        parts += [ints(3, 1, kind), sizes(1), sizes(number, *(p + 1 for p in points))]
    return b"".join([*parts, b"\n$EndElements\n"])


def text_1() -> bytes:
    lines = ["$NOD", "4", *(f"{10 + i} {x!r} {y!r} {z!r}" for i, (x, y, z) in enumerate(POINTS))]
    lines += ["$ENDNOD", "$ELM", str(len(ELEMENTS))]
    for number, (kind, points) in enumerate(ELEMENTS, 1):
        lines.append(
            " ".join(map(str, [number, kind, 1, 1, len(points), *(10 + p for p in points)]))
        )
    return "\n".join([*lines, "$ENDELM", ""]).encode()


FILES = {
    "1": text_1(),
    "2": text_2(),
    "2 with tags that jump": text_2((7, 0, 10**12, 3)),
    "2 on Windows": text_2().replace(b"\n", b"\r\n"),
    "2 binary": binary_2("<"),
    "2 binary, big-endian": binary_2(">"),
    "4.1": file_41(None),
    "4.1 binary": file_41("<"),
    "4.1 binary, big-endian": file_41(">"),
}


@pytest.mark.parametrize("name", FILES)
def test_every_version_keeps_every_bit_and_the_order(name):
    mesh = read_gmsh(FILES[name], "a.msh")
    assert mesh.positions.tobytes() == np.array(POINTS).tobytes()
    assert mesh.tetrahedra.tolist() == [[0, 1, 2, 3], [3, 2, 1, 0]]
    assert mesh.triangles.tolist() == [[3, 1, 0]]
    assert mesh.edges.tolist() == [[2, 3]]


def test_quads_hexahedra_and_quadratic_elements_are_read():
    kinds = [(3, [0, 1, 2, 3]), (5, [0, 1, 2, 3] * 2), (11, [3, 2, 1, 0] + [1] * 6), (8, [2, 1, 0])]
    for data in (text_2(elements=kinds), file_41(None, elements=kinds)):
        mesh = read_gmsh(data, "a.msh")
        assert mesh.quads.tolist() == [[0, 1, 2, 3]]
        assert mesh.hexahedra.tolist() == [[0, 1, 2, 3, 0, 1, 2, 3]]
        assert mesh.tetrahedra.tolist() == [[3, 2, 1, 0]]
        assert mesh.edges.tolist() == [[2, 3], [1, 2], [1, 3], [0, 3], [0, 1], [0, 2], [2, 1]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"solid part", "expected '$MeshFormat' or '$NOD' on the first line, got 'solid part'"),
        (text_2(version="4.0"), "expected version 2.2 or 4.1 of the format, got 4.0. Save it"),
        (text_2().replace(b"$Nodes", b"$Noodles"), "expected a section $Nodes, got none"),
        (text_2().replace(b"$EndNodes", b"$Ende"), "expected $EndNodes, got '$Ende'"),
        (text_2()[:-40], "expected $EndElements after elements, got none. The file is cut short"),
        (
            text_2().replace(b"Elements\n5", b"Elements\n4"),
            "expected 26 numbers in 4 elements, got 35",
        ),
        (text_2().replace(b"Elements\n5", b"Elements\n6"), "expected 6 elements, got 5"),
        (text_2().replace(b"1 15 1 7 1", b"1 15 1 7 6"), "has the point 6, which is not listed"),
        (text_2((1, 2, 2, 4)), "two points have the same tag"),
        (text_2(elements=[(6, [0] * 6)]), "elements of type 6 cannot be used. Usable are"),
        (text_1().replace(b"3 4 1 1 4", b"3 4 1 1 5"), "element 3 is malformed"),
        (file_41(None, tags=(1, 2, 4, 3)), "expected points with the tags 1 to 4 in this order"),
        (file_41("<")[:-60], "numbers of a block of elements, got"),
        (file_41(None).replace(b"2 4 1 4", b"2 5 1 5"), "expected 5 points, got 4"),
        (binary_2("<").replace(b"$EndNodes", b"$Ende"), "expected $EndNodes, got '$Ende'"),
        (binary_2("<").replace(b"Nodes\n4", b"Nodes\n29"), "expected 29 numbers of points, got"),
    ],
)
def test_what_is_wrong_is_told(data, message):
    with pytest.raises(MeshError) as raised:
        read_gmsh(data, "a.msh")
    assert str(raised.value).startswith("a.msh: ")
    assert message in str(raised.value)


def test_a_count_beyond_the_file_costs_no_memory():
    data = file_41("<").replace(struct.pack("<4Q", 2, 4, 1, 4), struct.pack("<4Q", 2, 2**40, 1, 4))
    with pytest.raises(MeshError, match="expected 1099511627776 points, got 4"):
        read_gmsh(data, "a.msh")
