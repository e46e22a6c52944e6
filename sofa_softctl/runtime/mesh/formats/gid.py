"""Reading GiD mesh files."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.mesh.cells import VTK_TETRAHEDRON_EDGES, middle_columns
from sofa_softctl.runtime.mesh.formats.cursor import Path, excerpt, fault
from sofa_softctl.runtime.mesh.mesh import ELEMENTS, Mesh

_KINDS = {
    "Linear": ("edges", (2, 3)),
    "Triangle": ("triangles", (3, 6)),
    "Quadrilateral": ("quads", (4, 8, 9)),
    "Tetrahedra": ("tetrahedra", (4, 10)),
    "Hexahedra": ("hexahedra", (8, 20, 27)),
}
"""GiD's kinds of elements: ours, and the possible numbers of nodes."""


def read_gid(data: bytes, path: Path) -> Mesh:
    """Return the nodes and elements of a GiD mesh, as SOFA's GIDMeshLoader reads them.

    Nodes are numbered in the order of the file, whatever numbers it gives them; elements name them
    by that order, and keep their corners only; the middle points of tetrahedra are kept apart.

    Args:
        data: The bytes of the file.
        path: File of the bytes, for messages.
    """
    lines = data.decode("utf-8", "replace").splitlines()
    kind, count, dimension = _header(lines[0].split(), path)
    coordinates = _block(lines, "coordinates", 1 + dimension, path)
    is_quadratic = kind == "tetrahedra" and count == 10
    width = count if is_quadratic else ELEMENTS[kind]
    rows = _block(lines, "elements", 1 + width, path)[:, 1:].astype(np.int64) - 1
    elements = {kind: rows[:, : ELEMENTS[kind]]}
    if is_quadratic:
        elements["middles"] = rows[:, middle_columns(VTK_TETRAHEDRON_EDGES)]
    positions = np.zeros((len(coordinates), 3))
    positions[:, :dimension] = coordinates[:, 1 : 1 + dimension]
    return Mesh(positions, **elements)


def _header(words: list[str], path: Path) -> tuple[str, int, int]:
    """Return our kind of the elements, their number of nodes, and that of coordinates."""
    options = dict(zip(words, words[1:], strict=False))
    if not words or words[0] != "MESH" or not {"dimension", "ElemType", "Nnode"} <= set(options):
        raise fault(
            path,
            "expected a first line 'MESH dimension 3 ElemType Tetrahedra Nnode 4', got "
            f"{excerpt(' '.join(words).encode())}",
            "It is damaged, or no GiD mesh: export it again.",
        )
    if options["ElemType"] not in _KINDS:
        raise fault(
            path,
            f"elements of kind '{options['ElemType']}' cannot be used",
            f"Usable are {', '.join(_KINDS)}: mesh again with one of these.",
        )
    kind, counts = _KINDS[options["ElemType"]]
    if options["Nnode"] not in map(str, counts) or options["dimension"] not in ("2", "3"):
        raise fault(
            path,
            f"expected 2 or 3 dimensions and {' or '.join(map(str, counts))} nodes in each "
            f"{options['ElemType']}, got dimension {options['dimension']} and Nnode "
            f"{options['Nnode']}",
        )
    return kind, int(options["Nnode"]), int(options["dimension"])


def _block(lines: list[str], name: str, width: int, path: Path) -> np.ndarray:
    """Return the numbers between the first and last line of a block, shape (n, width)."""
    names = [line.strip().lower() for line in lines]
    if name not in names or f"end {name}" not in names:
        raise fault(
            path,
            f"expected lines '{name.capitalize()}' and 'End {name.capitalize()}', found "
            f"{'only the first' if name in names else 'none'}",
            "It is damaged: export it again.",
        )
    start = names.index(name) + 1
    rows = [line.split() for line in lines[start : names.index(f"end {name}")]]
    rows = [row for row in rows if row]
    for number, row in enumerate(rows, start + 1):
        if len(row) < width:
            raise fault(
                path,
                f"line {number}: expected {width} numbers, got {excerpt(' '.join(row).encode())}",
            )
    try:
        block = np.array([row[:width] for row in rows], dtype=float)
    except ValueError as error:
        raise fault(path, f"the {name} hold something that is no number ({error})") from error
    return block.reshape(-1, width)
