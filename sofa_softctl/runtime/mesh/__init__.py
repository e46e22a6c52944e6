"""Meshes: reading them from files, placing and checking them. Knows no scene."""

from sofa_softctl.base.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "checks": ["check_mesh", "check_tetrahedra", "require_tetrahedra", "volumes"],
        "description": ["MeshDescription", "describe"],
        "faces": ["with_subelements"],
        "formats.read": ["read_mesh"],
        "mesh": ["Mesh"],
        "rotation": ["rotation_zyx"],
    },
)
