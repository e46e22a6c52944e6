"""Read a mesh file of any format."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from pkgutil import resolve_name

from sofa_softctl.base.files import wrong_file
from sofa_softctl.base.suggestions import files_like
from sofa_softctl.errors import MeshError
from sofa_softctl.runtime.mesh.checks import check_mesh
from sofa_softctl.runtime.mesh.formats.cursor import Path, fault
from sofa_softctl.runtime.mesh.mesh import Mesh

CAD = (".step", ".stp", ".iges", ".igs", ".brep")
"""Suffixes of shapes that are not meshed yet."""

READERS = ("gid", "gmsh", "obj", "off", "stl", "vtk")
"""Kinds of files: each is a module of this folder, with a function read_KIND."""
SUFFIXES = {
    ".gid": "gid",
    ".gidmsh": "gid",
    ".gmsh": "gmsh",
    ".msh": "gmsh",
    ".obj": "obj",
    ".stl": "stl",
    ".vtk": "vtk",
    ".vtu": "vtk",
}


def read_mesh(
    path: Path, kind: str | None = None, *, merge: bool = True, triangulate: bool = False
) -> Mesh:
    """Return the mesh in a file, with elements in its order, finite coordinates and valid indices.

    Args:
        path: The file.
        kind: `gid`, `gmsh`, `obj`, `off`, `stl` or `vtk`; by default from the suffix.
            Suffixes of other formats (Abaqus, Medit, Nastran, PLY, ...) go to meshio.
        merge: Merge equal points of STL files, as SOFA does.
        triangulate: Cut quadrilaterals of OBJ files; the parts keep their position in the list.

    Raises:
        MeshError: The file is missing, no such file, damaged, or has unusable numbers.
    """
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    kind = kind or SUFFIXES.get(suffix)
    if kind is not None and kind not in READERS:
        raise ValueError(f"expected a kind among {', '.join(READERS)}. Got: {kind!r}")
    data = _content(path)
    if kind is not None:
        read = reader_of(kind)
        options = {"stl": {"merge": merge}, "obj": {"triangulate": triangulate}}.get(kind, {})
        mesh = read(data, path, **options)
    else:
        mesh = _read_foreign(path, suffix)
    check_mesh(mesh, path)
    return mesh


def _read_foreign(path: Path, suffix: str) -> Mesh:
    from sofa_softctl.runtime.mesh.formats.foreign import foreign_suffixes, read_foreign

    if suffix in foreign_suffixes():
        return read_foreign(path)
    if suffix in CAD:
        raise fault(
            path,
            f"{suffix!r} is a format of CAD programs, not of meshes",
            "Fill the shape with tetrahedra first: docs/how-to/make-a-mesh.md.",
        )
    suffixes = ", ".join(sorted({*SUFFIXES, *foreign_suffixes()}))
    raise fault(
        path,
        f"the suffix {suffix!r} belongs to no known mesh format",
        f"Known are {suffixes}; or say the kind: {', '.join(READERS)}.",
    )


def reader_of(kind: str) -> Callable[..., Mesh]:
    """Return the function of the content of a file and its path that returns the mesh."""
    read: Callable[..., Mesh] = resolve_name(f"{__package__}.{kind}:read_{kind}")
    return read


def _content(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError as error:
        raise MeshError(f"{path}: there is no such mesh file. {_hint(path)}") from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise fault(path, f"the mesh file cannot be read ({reason})", "Check the path.") from error
    if not data.strip():
        raise fault(path, "expected a mesh, got an empty file", "Export it again.")
    if wrong := wrong_file(data[:1024]):
        raise MeshError(f"{path}: expected a mesh, but this {wrong}.")
    return data


def _hint(path: Path) -> str:
    """Return a suggestion for a missing file."""
    folder, name = os.path.split(os.path.abspath(path))
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return f"The folder {folder} does not exist either."
    close = files_like(pathlib.Path(folder, name), list(SUFFIXES))
    meshes = [name for name in names if os.path.splitext(name)[1].lower() in SUFFIXES]
    if close:
        return f"Did you mean {' or '.join(map(repr, close))}?"
    if meshes:
        return f"Meshes in that folder: {', '.join(meshes[:10])}."
    return f"There are no meshes in {folder}."
