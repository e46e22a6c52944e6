"""Reading other formats through meshio: Abaqus, Medit, Nastran, PLY, ...

SOFA has no loaders for these, hence no semantics that meshio could differ from. It is not used for
VTK, STL, OBJ and Gmsh files; the modules that read those give the reasons.
"""

from __future__ import annotations

import contextlib
import io
import os
import warnings

import numpy as np

from sofa_softctl.runtime.mesh.cells import VTK_TETRAHEDRON_EDGES, middle_columns
from sofa_softctl.runtime.mesh.formats.cursor import Path, fault
from sofa_softctl.runtime.mesh.mesh import Mesh

# meshio's name of a cell type: ours, and the number of corners, which precede the middle points.
KINDS = {
    "line": ("edges", 2),
    "line3": ("edges", 2),
    "triangle": ("triangles", 3),
    "triangle6": ("triangles", 3),
    "quad": ("quads", 4),
    "quad8": ("quads", 4),
    "quad9": ("quads", 4),
    "tetra": ("tetrahedra", 4),
    "tetra10": ("tetrahedra", 4),
    "hexahedron": ("hexahedra", 8),
    "hexahedron20": ("hexahedra", 8),
    "hexahedron27": ("hexahedra", 8),
}


def foreign_suffixes() -> list[str]:
    """Return the suffixes of file names that meshio knows."""
    import meshio

    return sorted(meshio.extension_to_filetypes)


def read_foreign(path: Path) -> Mesh:
    """Return the mesh in a file whose suffix meshio knows; quadratic cells by their corners.

    The middle points of tetrahedra are kept apart.

    Args:
        path: The file.
    """
    import meshio

    output = io.StringIO()
    try:
        # meshio prints its errors and then ends the process.
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read = meshio.read(os.fspath(path))
    except (Exception, SystemExit) as error:
        detail = " ".join(output.getvalue().split()) or f"{type(error).__name__}: {error}"
        raise fault(path, f"meshio cannot read it ({detail})") from error
    unknown = sorted({block.type for block in read.cells} - KINDS.keys() - {"vertex"})
    if unknown:
        raise fault(
            path,
            f"cells of type {', '.join(unknown)} cannot be used",
            f"Usable are {', '.join(KINDS)}: mesh again with these, or convert.",
        )
    positions = np.zeros((len(read.points), 3))
    flat = np.asarray(read.points, dtype=np.float64).reshape(len(positions), -1)[:, :3]
    positions[:, : flat.shape[1]] = flat  # plane meshes have two coordinates
    rows: dict[str, list[np.ndarray]] = {}
    for block in read.cells:
        if block.type in KINDS:
            kind, corners = KINDS[block.type]
            rows.setdefault(kind, []).append(block.data[:, :corners])
        if block.type == "tetra":
            rows.setdefault("middles", []).append(np.full((len(block.data), 6), -1))
        if block.type == "tetra10":
            columns = middle_columns(VTK_TETRAHEDRON_EDGES)
            rows.setdefault("middles", []).append(block.data[:, columns])
    if not any(block.type == "tetra10" for block in read.cells):
        rows.pop("middles", None)
    return Mesh(positions, **{kind: np.concatenate(parts) for kind, parts in rows.items()})
