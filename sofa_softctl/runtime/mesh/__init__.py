"""Meshes: reading them from files, placing and checking them. Knows no scene."""

from sofa_softctl.runtime.mesh.checks import (
    check_mesh,
    check_tetrahedra,
    require_tetrahedra,
    volumes,
)
from sofa_softctl.runtime.mesh.mesh import Mesh, rotation_zyx
from sofa_softctl.runtime.mesh.read import read_mesh
from sofa_softctl.runtime.mesh.subelements import with_subelements

__all__ = [
    "Mesh",
    "check_mesh",
    "check_tetrahedra",
    "read_mesh",
    "require_tetrahedra",
    "rotation_zyx",
    "volumes",
    "with_subelements",
]
