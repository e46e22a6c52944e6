"""Mesh files as texts: VTK, Gmsh, OBJ, STL."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

_VTK_TYPES = {"edges": 3, "triangles": 5, "quads": 9, "tetrahedra": 10, "hexahedra": 12}
_GMSH_TYPES = {"edges": 1, "triangles": 2, "quads": 3, "tetrahedra": 4, "hexahedra": 5}
Arrays = Mapping[str, np.ndarray]


def _lines(rows: np.ndarray, form: str = "{:.9g}") -> str:
    return "".join(" ".join(form.format(x) for x in row) + "\n" for row in rows.tolist())


def _rows(values: np.ndarray) -> np.ndarray:
    """Return values in rows, one per point or element."""
    return values if values.ndim == 2 else values.reshape(-1, 1)


def _cells(mesh: Arrays) -> dict[str, np.ndarray]:
    return {kind: mesh[kind] for kind in _VTK_TYPES if kind in mesh and len(mesh[kind])}


def vtk(mesh: Arrays, points: Arrays, cells: Arrays) -> str:
    """Legacy VTK, an unstructured grid.

    Args:
        mesh: `points` (n, 3), and elements by their kind.
        points, cells: Values of points and elements by name, shape (n,) or (n, width).
    """
    elements = _cells(mesh)
    count = sum(map(len, elements.values()))
    size = sum(group.size + len(group) for group in elements.values())
    text = "# vtk DataFile Version 2.0\nExported VTK file\nASCII\n\nDATASET UNSTRUCTURED_GRID\n"
    text += f"POINTS {len(mesh['points'])} float\n{_lines(mesh['points'])}\n"
    text += f"CELLS {count} {size}\n"
    for group in elements.values():
        text += _lines(np.hstack([np.full((len(group), 1), group.shape[1]), group]), "{:d}")
    text += f"\nCELL_TYPES {count}\n"
    text += "".join(f"{_VTK_TYPES[kind]}\n" * len(group) for kind, group in elements.items())
    for place, number, arrays in (("POINT", len(mesh["points"]), points), ("CELL", count, cells)):
        if arrays:
            text += f"\n{place}_DATA {number}\n"
        for name, values in arrays.items():
            rows = _rows(values)
            if rows.shape[1] == 3:
                text += f"VECTORS {name} double\n"
            else:
                text += f"SCALARS {name} double {rows.shape[1]}\nLOOKUP_TABLE default\n"
            text += _lines(rows)
    return text


def vtu(mesh: Arrays, points: Arrays, cells: Arrays) -> str:
    """VTK's XML of an unstructured grid, with the arguments of `vtk`."""
    elements = _cells(mesh)
    count = sum(map(len, elements.values()))
    widths = np.concatenate([[0], *(np.full(len(e), e.shape[1]) for e in elements.values())])
    types = [_VTK_TYPES[kind] for kind, group in elements.items() for _ in group]
    text = '<VTKFile type="UnstructuredGrid" version="0.1" byte_order="LittleEndian">\n'
    text += f'<UnstructuredGrid>\n<Piece NumberOfPoints="{len(mesh["points"])}" '
    text += f'NumberOfCells="{count}">\n'
    for place, arrays in (("PointData", points), ("CellData", cells)):
        if arrays:
            text += f"<{place}>\n"
            text += "".join(_array(name, values) for name, values in arrays.items())
            text += f"</{place}>\n"
    text += f"<Points>\n{_array('Points', mesh['points'], 'Float32')}</Points>\n<Cells>\n"
    text += '<DataArray type="Int32" Name="connectivity" format="ascii">\n'
    text += "".join(_lines(group, "{:d}") for group in elements.values()) + "</DataArray>\n"
    text += _array("offsets", np.cumsum(widths)[1:].astype(np.int64), "Int32")
    text += _array("types", np.array(types, dtype=np.int64), "UInt8")
    return text + "</Cells>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n"


def _array(name: str, values: np.ndarray, kind: str = "") -> str:
    is_integer = values.dtype.kind in "iub"
    rows = _rows(values)
    kind = kind or ("Int32" if is_integer else "Float64")
    width = f' NumberOfComponents="{rows.shape[1]}"' if rows.shape[1] > 1 else ""
    return (
        f'<DataArray type="{kind}" Name="{name}"{width} format="ascii">\n'
        f"{_lines(rows, '{:d}' if is_integer else '{:.9g}')}</DataArray>\n"
    )


def gmsh(mesh: Arrays) -> str:
    """Gmsh 2.1."""
    elements = _cells(mesh)
    text = "$MeshFormat\n2.1 0 8\n$EndMeshFormat\n"
    text += f"$Nodes\n{len(mesh['points'])}\n"
    for number, point in enumerate(mesh["points"], 1):
        text += f"{number} {_lines(point[None, :])}"
    text += f"$EndNodes\n$Elements\n{sum(map(len, elements.values()))}\n"
    number = 0
    for kind, group in elements.items():
        for element in (group + 1).tolist():
            number += 1
            text += f"{number} {_GMSH_TYPES[kind]} 0 {' '.join(map(str, element))}\n"
    return text + "$EndElements\n"


def obj(mesh: Arrays, first: int = 0) -> str:
    """Wavefront OBJ, to follow `first` points in the file."""
    text = "".join(f"v {line}\n" for line in _lines(mesh["points"]).splitlines())
    for kind in ("triangles", "quads"):
        for face in (mesh.get(kind, np.empty((0, 3), np.int64)) + 1 + first).tolist():
            text += f"f {' '.join(map(str, face))}\n"
    return text


def stl(points: np.ndarray, triangles: np.ndarray, *, binary: bool) -> bytes:
    """STL, normals zero as SOFA writes them."""
    corners = points[triangles].reshape(-1, 3, 3)
    if binary:
        facets = np.zeros(len(corners), dtype=[("v", "<f4", (4, 3)), ("rest", "<u2")])
        facets["v"][:, 1:] = corners
        count = np.array([len(corners)], dtype="<u4")
        return b"Exported from Sofa".ljust(80, b"\0") + count.tobytes() + facets.tobytes()
    text = "solid Exported from Sofa\n"
    for corner in corners:
        lines = "".join(f"vertex {line}\n" for line in _lines(corner).splitlines())
        text += f"facet normal 0 0 0\nouter loop\n{lines}endloop\nendfacet\n"
    return (text + "endsolid Exported from Sofa\n").encode("ascii")
