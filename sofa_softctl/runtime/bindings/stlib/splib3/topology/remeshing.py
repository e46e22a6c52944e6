"""Meshes of cavities: points sorted along an axis, circles of a cylinder, closed ends."""

from splib3.topology.circles import (
    circle_detection_axis,
    circle_detection_regular,
    ordering_circle,
    ordering_cylinder,
)
from splib3.topology.numbering import (
    conv_tab_from_ind_tab,
    default_indices,
    index_from_axis,
    new_idx_from_conv_tab,
    reindex_mesh,
    remesh_from_axis,
)
from splib3.topology.surfaces import close_surface, invers_normal, quad_2_triangles, shift_tab

__all__ = [
    "circle_detection_axis",
    "circle_detection_regular",
    "close_surface",
    "conv_tab_from_ind_tab",
    "default_indices",
    "index_from_axis",
    "invers_normal",
    "new_idx_from_conv_tab",
    "ordering_circle",
    "ordering_cylinder",
    "quad_2_triangles",
    "reindex_mesh",
    "remesh_from_axis",
    "shift_tab",
]
