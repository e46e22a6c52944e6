"""Reading Gmsh's .msh files: versions 1, 2 and 4.1, text or binary.

Read by ourselves: meshio 5.3.5 believes counts and tags of points before it has seen the numbers
(a damaged byte asks for gigabytes), refuses parametric points, and cannot read version 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from sofa_softctl.runtime.mesh.cells import GMSH_TETRAHEDRON_EDGES, MixedCells, mesh_of_cells
from sofa_softctl.runtime.mesh.formats.cursor import (
    BinaryCursor,
    Cursor,
    Path,
    TextCursor,
    excerpt,
    fault,
    parse_count,
)
from sofa_softctl.runtime.mesh.mesh import Mesh

# Gmsh's number of an element type: VTK's number, number of points.
TYPES = {
    15: (1, 1),
    1: (3, 2),
    2: (5, 3),
    3: (9, 4),
    4: (10, 4),
    5: (12, 8),
    8: (21, 3),
    9: (22, 6),
    11: (24, 10),
}


def read_gmsh(data: bytes, path: Path) -> Mesh:
    """Return the mesh in a Gmsh file, as SOFA's MeshGmshLoader reads it, each kind in file order.

    Points come in the order of the file, whatever their tags; in version 4.1 tags must be 1 to n
    in that order, since SOFA takes them for positions there. SOFA reads text only; binary files
    give the same mesh. Each edge of quadratic elements comes once (SOFA repeats it for every
    element in versions 1 and 2). That loader also sets `createSubelements`: see `subelements.py`.

    Args:
        data: The bytes of the file.
        path: File of the bytes, for messages.
    """
    if data.startswith(b"$NOD"):
        return _read_2(TextCursor(path, data), NAMES_1, _elements_1)
    heading = re.match(rb"\$MeshFormat\s+(\d+(?:\.\d+)?) ([01]) ([48])[ \r]*\n", data)
    if heading is None:
        raise fault(
            path,
            f"expected '$MeshFormat' or '$NOD' on the first line, got {excerpt(data)}",
            "This is not a Gmsh file: take the loader of its format, or convert it.",
        )
    version = heading[1].decode()
    if version not in ("2", "2.0", "2.1", "2.2", "4.1"):
        raise fault(
            path,
            f"expected version 2.2 or 4.1 of the format, got {version}",
            "Save it again with 'gmsh -save -format msh41'.",
        )
    cursor: Cursor = TextCursor(path, data[heading.end() :])
    if heading[2] == b"1":
        first_word = data[heading.end() : heading.end() + 4]
        little = int.from_bytes(first_word, "little") == 1
        cursor = BinaryCursor(path, data, heading.end() + 4, "<" if little else ">")
    if version == "4.1":
        return _read_41(cursor, f"u{heading[3].decode()}")
    return _read_2(cursor, NAMES_2, _elements_2)


NAMES_1 = (b"$NOD", b"$ENDNOD", b"$ELM", b"$ENDELM")
NAMES_2 = (b"$Nodes", b"$EndNodes", b"$Elements", b"$EndElements")

Elements = tuple[np.ndarray, np.ndarray]
"""Gmsh's type of each element, and the tags of the points of all elements."""


def _read_2(
    cursor: Cursor,
    names: tuple[bytes, bytes, bytes, bytes],
    read_text: Callable[[np.ndarray, int, Path], Elements],
) -> Mesh:
    """Read versions 1 and 2: a list of points with their tags, a list of elements."""
    path = cursor.path
    if isinstance(cursor, TextCursor):
        _find_section(cursor, names[0])
        count = int(cursor.read(1, "i8", "the number of points")[0])
        rows = cursor.read(4 * count, "f8", "points").reshape(-1, 4)
        tags, positions = rows[:, 0], rows[:, 1:]
        cursor.skip_word(names[1])
        _find_section(cursor, names[2])
        count = int(cursor.read(1, "i8", "the number of elements")[0])
        types, points = read_text(cursor.read_until(names[3], "i8", "elements"), count, path)
    else:
        _find_section(cursor, names[0])
        stored = cursor.read(
            parse_count(cursor.line().strip(), "points", path), "i4, 3f8", "points"
        )
        tags, positions = stored["f0"], stored["f1"]
        cursor.skip_word(names[1])
        _find_section(cursor, names[2])
        types, points = _elements_2_binary(
            cursor, parse_count(cursor.line().strip(), "elements", path)
        )
        cursor.skip_word(names[3])
    return _mesh(positions, types, _point_indices(tags, points, path), path)


def _elements_1(values: np.ndarray, count: int, path: Path) -> Elements:
    """Read elements of version 1: number, type, two regions, number of points, points."""
    return _read_elements(values, count, path, lambda flat, at: (at + 5, flat[at + 4]))


def _elements_2(values: np.ndarray, count: int, path: Path) -> Elements:
    """Read elements of version 2: number, type, number of labels, labels, points."""
    return _read_elements(values, count, path, lambda flat, at: (at + 3 + flat[at + 2], None))


def _read_elements(
    values: np.ndarray,
    count: int,
    path: Path,
    layout: Callable[[list[int], int], tuple[int, int | None]],
) -> Elements:
    flat, types, points, at = values.tolist(), [], [], 0
    for number in range(count):
        if at + 5 > len(flat):
            raise fault(path, f"expected {count} elements, got {number}")
        begin, stated = layout(flat, at)
        size = _size(flat[at + 1], path)
        if begin <= at or stated not in (None, size):
            raise fault(path, f"element {flat[at]} is malformed")
        types.append(flat[at + 1])
        points += flat[begin : begin + size]
        at = begin + size
    if at != len(flat):
        raise fault(path, f"expected {at} numbers in {count} elements, got {len(flat)}")
    return np.array(types, dtype=np.int64), np.array(points, dtype=np.int64)


def _elements_2_binary(cursor: BinaryCursor, count: int) -> Elements:
    """Read blocks: type, number of elements and labels; then number, labels, points of each."""
    types, points, read_count = [EMPTY], [EMPTY], 0
    while read_count < count:
        gmsh_type, length, labels = cursor.read(3, "i4", "elements").tolist()
        size = _size(gmsh_type, cursor.path)
        if labels < 0:
            raise fault(cursor.path, f"expected the number of labels, got {labels}")
        rows = cursor.read(length * (1 + labels + size), "i4", "elements")
        types.append(np.full(length, gmsh_type))
        points.append(rows.reshape(length, 1 + labels + size)[:, 1 + labels :].ravel())
        read_count += length
    return np.concatenate(types), np.concatenate(points)


def _read_41(cursor: Cursor, size_type: str) -> Mesh:
    """Read version 4.1: points and elements in one block for each part of the geometry."""
    path = cursor.path
    _find_section(cursor, b"$Nodes")
    blocks, n_points = cursor.read(4, size_type, "the head of the points").tolist()[:2]
    tags, positions = [EMPTY], [np.empty((0, 3))]
    for _ in range(blocks):
        dimension, _, parametric = cursor.read(3, "i4", "a block of points").tolist()
        (length,) = cursor.read(1, size_type, "a block of points").tolist()
        width = 3 + (dimension if parametric and 0 <= dimension <= 3 else 0)
        tags.append(cursor.read(length, size_type, "tags of points").astype(np.int64))
        rows = cursor.read(length * width, "f8", "points").reshape(length, width)
        positions.append(rows[:, :3])
    cursor.skip_word(b"$EndNodes")
    tag = np.concatenate(tags)
    if len(tag) != n_points:
        raise fault(path, f"expected {n_points} points, got {len(tag)}")
    if not np.array_equal(tag, np.arange(1, len(tag) + 1)):
        raise fault(
            path,
            f"expected points with the tags 1 to {n_points} in this order, got other tags",
            "SOFA takes these tags for positions in the list: "
            "save it again with 'gmsh -save -format msh22'.",
        )
    _find_section(cursor, b"$Elements")
    (blocks,) = cursor.read(4, size_type, "the head of the elements").tolist()[:1]
    types, points = [EMPTY], [EMPTY]
    for _ in range(blocks):
        gmsh_type = int(cursor.read(3, "i4", "a block of elements")[2])
        (length,) = cursor.read(1, size_type, "a block of elements").tolist()
        size = _size(gmsh_type, path)
        rows = cursor.read(length * (1 + size), size_type, "elements").reshape(length, 1 + size)
        types.append(np.full(length, gmsh_type))
        points.append(rows[:, 1:].astype(np.int64).ravel())
    cursor.skip_word(b"$EndElements")
    indices = np.concatenate(points) - 1
    return _mesh(np.concatenate(positions), np.concatenate(types), indices, path)


EMPTY = np.empty(0, dtype=np.int64)


def _find_section(cursor: Cursor, name: bytes) -> None:
    if cursor.find_section({name.upper(): 0}) is None:
        raise fault(cursor.path, f"expected a section {name.decode()}, got none")


def _size(gmsh_type: int, path: Path) -> int:
    """Number of points of an element type."""
    if gmsh_type not in TYPES:
        raise fault(
            path,
            f"elements of type {gmsh_type} cannot be used",
            "Usable are lines, triangles, quads, tetrahedra, hexahedra and their quadratic forms "
            f"({', '.join(map(str, sorted(TYPES)))}): mesh again with these.",
        )
    return TYPES[gmsh_type][1]


def _point_indices(tags: np.ndarray, queries: np.ndarray, path: Path) -> np.ndarray:
    """Return the index of the point of each tag of the elements."""
    order = np.argsort(tags, kind="stable")
    ordered = tags[order]
    if np.any(ordered[1:] == ordered[:-1]):
        raise fault(path, "two points have the same tag")
    index = np.minimum(np.searchsorted(ordered, queries), len(ordered) - 1)
    missing = np.flatnonzero(ordered[index] != queries) if len(ordered) else np.arange(len(queries))
    if len(missing):
        raise fault(path, f"an element has the point {queries[missing[0]]}, which is not listed")
    return order[index]


def _mesh(positions: np.ndarray, types: np.ndarray, points: np.ndarray, path: Path) -> Mesh:
    table = np.zeros((max(TYPES) + 1, 2), dtype=np.int64)
    table[list(TYPES)] = list(TYPES.values())
    vtk_type, size = table[types].T
    start = np.cumsum(size) - size
    cells = MixedCells(vtk_type, start, size, points, GMSH_TETRAHEDRON_EDGES)
    return mesh_of_cells(positions, cells, path)
