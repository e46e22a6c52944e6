"""Reading VTK's XML files (.vtu).

Read by ourselves: meshio 5.3.5 refuses versions after 1.0 and appended arrays that are not listed
in order, knows no strips, polygons, pixels or voxels, and keeps the cells of the last piece only.
"""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np

from sofa_softctl.runtime.mesh.cells import MixedCells, mesh_of_cells
from sofa_softctl.runtime.mesh.formats.cursor import Path, fault, parse_count
from sofa_softctl.runtime.mesh.formats.data_array import Decoder
from sofa_softctl.runtime.mesh.mesh import Mesh


def read_vtu(data: bytes, path: Path) -> Mesh:
    """Return the mesh in a VTK XML file of type UnstructuredGrid, cells as in `cells.py`.

    SOFA's MeshVTKLoader understands the text form of one piece; the other encodings are read as VTK
    defines them. Coordinates in text are read as doubles, as SOFA does, whatever their type.

    Args:
        data: The bytes of the file.
        path: File of the bytes, for messages.
    """
    document, appended = _split_appended(data)
    try:
        root = ElementTree.fromstring(document)
    except (ElementTree.ParseError, ValueError, LookupError) as error:  # the latter: its encoding
        raise fault(path, f"the XML is malformed ({error})") from error
    if root.tag != "VTKFile" or root.get("type") != "UnstructuredGrid":
        raise fault(
            path,
            f"expected a VTKFile of type UnstructuredGrid, got {root.tag} {root.get('type')}",
            "Export it as an unstructured grid (.vtu or legacy .vtk).",
        )
    pieces = root.findall("UnstructuredGrid/Piece")
    if len(pieces) != 1:
        raise fault(
            path,
            f"expected one Piece, got {len(pieces)}",
            "SOFA reads one piece only: merge them, for example with ParaView's Merge Blocks.",
        )
    return _read_piece(pieces[0], Decoder.from_root(root, appended, path), path)


def _split_appended(data: bytes) -> tuple[bytes, bytes]:
    """Return the document without its appended bytes, which need not be XML, and these bytes."""
    tag = data.find(b"<AppendedData")
    begin = data.find(b"_", data.find(b">", tag)) + 1
    end = data.rfind(b"</AppendedData>")
    if tag < 0 or begin == 0 or end < begin:
        return data, b""
    return data[:begin] + data[end:], data[begin:end]


def _read_piece(piece: ElementTree.Element, decoder: Decoder, path: Path) -> Mesh:
    n_points, n_cells = (
        parse_count(piece.get(name, "nothing").strip().encode(), name, path)
        for name in ("NumberOfPoints", "NumberOfCells")
    )
    points = decoder.read_array(piece.find("Points/DataArray"), "points", text_dtype="f8")
    if len(points) != 3 * n_points:
        raise fault(path, f"expected {3 * n_points} coordinates of points, got {len(points)}")
    arrays = {array.get("Name"): array for array in piece.findall("Cells/DataArray")}
    connectivity, offsets, types = (
        decoder.read_array(arrays.get(name), name).astype(np.int64)
        for name in ("connectivity", "offsets", "types")
    )
    if not len(offsets) == len(types) == n_cells:
        raise fault(
            path,
            f"expected {n_cells} offsets and types of cells, got {len(offsets)} and {len(types)}",
        )
    size = np.diff(offsets, prepend=0)
    cells = MixedCells(types, offsets - size, size, connectivity)
    return mesh_of_cells(points.reshape(-1, 3), cells, path)
