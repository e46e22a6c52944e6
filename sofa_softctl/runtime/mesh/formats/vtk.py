"""Reading VTK files: legacy (text or binary), and XML through `vtu.py`.

Read by ourselves: meshio 5.3.5 knows no POLYDATA, polygons, strips, pixels or voxels, refuses
Windows line ends and little-endian files, and believes counts before it has seen the numbers.
"""

from __future__ import annotations

import re

import numpy as np

from sofa_softctl.runtime.mesh.cells import POLYGON, MixedCells, mesh_of_cells
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

DTYPES = {
    "char": "i1",
    "unsigned_char": "u1",
    "short": "i2",
    "unsigned_short": "u2",
    "int": "i4",
    "unsigned_int": "u4",
    "long": "i8",
    "unsigned_long": "u8",
    "vtktypeint64": "i8",
    "float": "f4",
    "double": "f8",
}
GEOMETRY = {b"POINTS": 2, b"CELLS": 2, b"CELL_TYPES": 1, b"POLYGONS": 2}
NOT_READ = {b"TRIANGLE_STRIPS": 0}
DATA = {b"POINT_DATA": 0, b"CELL_DATA": 0}  # what follows does not change the mesh


def read_vtk(data: bytes, path: Path) -> Mesh:
    """Return the mesh in a VTK file, legacy or XML, with any suffix.

    As SOFA's MeshVTKLoader: UNSTRUCTURED_GRID (cell types as in `cells.py`) or POLYDATA (polygons
    of four points become quads, larger ones fans of triangles), big-endian or little-endian.
    Files that SOFA cannot read at all (VTK 5 with OFFSETS and CONNECTIVITY) are read too.

    Args:
        data: The bytes of the file.
        path: File of the bytes, for messages.
    """
    first, _, rest = data.partition(b"\n")
    if b"<VTKFile" in first or (b"<?xml" in first and b"<VTKFile" in rest[:4096]):
        from sofa_softctl.runtime.mesh.formats.vtu import read_vtu

        return read_vtu(data, path)
    version = re.match(rb"# vtk DataFile Version +(\d+)", first, re.IGNORECASE)
    if version is None:
        raise fault(
            path,
            f"expected '# vtk DataFile Version' or '<VTKFile' on the first line, got "
            f"{excerpt(data)}",
            "This is not a VTK file: take the loader of its format, or convert it.",
        )
    _, _, rest = rest.partition(b"\n")  # the title
    encoding, _, rest = rest.partition(b"\n")
    if encoding.strip().upper() == b"ASCII":
        return _read_sections(TextCursor(path, rest), int(version[1]))
    if encoding.strip().upper() != b"BINARY":
        raise fault(path, f"expected ASCII or BINARY on the third line, got {excerpt(encoding)}")
    little = _is_little_endian(rest)
    cursor = BinaryCursor(path, rest, order="<" if little else ">")
    return _read_sections(cursor, int(version[1]))


def _is_little_endian(data: bytes) -> bool:
    """Return True if the first type (or size of a polygon) is smaller so, SOFA's rule."""
    heading = re.search(rb"^(CELL_TYPES|POLYGONS)[^\n]*\n", data, re.MULTILINE)
    first = data[heading.end() : heading.end() + 4] if heading else b""
    return int.from_bytes(first, "little") < int.from_bytes(first, "big")


def _read_sections(cursor: Cursor, version: int) -> Mesh:
    path = cursor.path
    section = cursor.find_section({b"DATASET": 1})
    dataset = section[1].upper() if section else b"no DATASET"
    if dataset not in (b"UNSTRUCTURED_GRID", b"POLYDATA"):
        raise fault(
            path,
            f"expected DATASET UNSTRUCTURED_GRID or POLYDATA, got {excerpt(dataset)}",
            "Export it as an unstructured grid.",
        )
    positions = types = polygons = cells = None
    while (section := cursor.find_section(GEOMETRY | NOT_READ | DATA)) is not None and section[
        0
    ] not in DATA:
        keyword, *words = section
        if keyword in NOT_READ:
            raise fault(
                path, "TRIANGLE_STRIPS are not read, by SOFA neither", "Export plain triangles."
            )
        count = parse_count(words[0], keyword.decode(), path)
        if keyword == b"POINTS":
            dtype = _dtype(words[1], path)
            positions = cursor.read(3 * count, dtype, "POINTS").reshape(-1, 3)
        elif keyword == b"CELL_TYPES":
            types = cursor.read(count, "i4", "CELL_TYPES")
        else:
            total = parse_count(words[1], keyword.decode(), path)
            read = _read_offsets if version >= 5 else _read_sizes
            cells = read(cursor, count, total, keyword.decode())
            polygons = cells if keyword == b"POLYGONS" else polygons
    if positions is None:
        raise fault(path, "no POINTS were found")
    if polygons is not None:
        start, size, connectivity = polygons
        types = np.select([size < 3, size == 3, size == 4], [0, 5, 9], POLYGON)
    elif cells is None:
        return Mesh(positions)
    else:
        start, size, connectivity = cells
    if types is None or len(types) != len(size):
        got = "none" if types is None else len(types)
        raise fault(path, f"expected {len(size)} CELL_TYPES, one for each cell, got {got}")
    return mesh_of_cells(positions, MixedCells(types, start, size, connectivity), path)


def _dtype(word: bytes, path: Path) -> str:
    name = word.decode("ascii", "replace").lower()
    if name not in DTYPES:
        raise fault(path, f"expected POINTS of type float or double, got {name!r}")
    return DTYPES[name]


def _read_sizes(
    cursor: Cursor, count: int, total: int, label: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read cells written as size and points; return start, size, connectivity."""
    flat = cursor.read(total, "i4", label).astype(np.int64)
    values, starts, at = flat.tolist(), [], 0
    for _ in range(count):
        if at >= total or values[at] < 0:
            break
        starts.append(at + 1)
        at += 1 + values[at]
    if len(starts) != count or at != total:
        raise fault(
            cursor.path, f"expected {count} {label} in {total} numbers, got {len(starts)} in {at}"
        )
    start = np.array(starts, dtype=np.int64)
    return start, flat[start - 1], flat


def _read_offsets(
    cursor: Cursor, count: int, total: int, label: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read cells of VTK 5: `count` starts with the end of the last one, then all points."""
    arrays = []
    for name, length in ((b"OFFSETS", count), (b"CONNECTIVITY", total)):
        section = cursor.find_section({name: 1})
        if section is None:
            raise fault(cursor.path, f"expected {name.decode()} in {label}, got none")
        numbers = cursor.read(length, _dtype(section[1], cursor.path), label)
        arrays.append(numbers.astype(np.int64))
    offsets, connectivity = arrays
    return offsets[:-1], np.diff(offsets), connectivity
