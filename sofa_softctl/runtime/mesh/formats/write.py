"""Write a mesh file that the embedded runtime and SOFA read."""

from __future__ import annotations

from pathlib import Path

from sofa_softctl.base.files import replace_atomically
from sofa_softctl.errors import MeshError
from sofa_softctl.runtime.mesh.mesh import Mesh


def write_tetrahedra(mesh: Mesh, path: Path) -> None:
    """Write the points and tetrahedra of a mesh as legacy VTK 4.2, which appears when complete.

    SOFA does not read newer versions of VTK's formats.

    Raises:
        MeshError: The file cannot be written.
    """
    import meshio

    with replace_atomically(path, MeshError) as temporary:
        meshio.write(
            temporary,
            meshio.Mesh(mesh.positions, [("tetra", mesh.tetrahedra)]),
            file_format="vtk42",
        )
