"""Meshes: reading them from files, placing and checking them. Knows no scene."""

from sofa_softctl.runtime.mesh.checks import (
    check_mesh,
    check_tetrahedra,
    require_tetrahedra,
    volumes,
)
from sofa_softctl.runtime.mesh.description import MeshDescription, describe
from sofa_softctl.runtime.mesh.findings import Finding, findings, likely_unit
from sofa_softctl.runtime.mesh.mesh import Mesh
from sofa_softctl.runtime.mesh.read import read_mesh
from sofa_softctl.runtime.mesh.rotation import rotation_zyx
from sofa_softctl.runtime.mesh.subelements import with_subelements

__all__ = [
    "Finding",
    "Mesh",
    "MeshDescription",
    "check_mesh",
    "check_tetrahedra",
    "describe",
    "findings",
    "likely_unit",
    "read_mesh",
    "require_tetrahedra",
    "rotation_zyx",
    "volumes",
    "with_subelements",
]
