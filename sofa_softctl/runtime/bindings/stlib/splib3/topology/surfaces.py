"""Elements of surfaces: split quads, flip normals, close holes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def quad_2_triangles(quads: Sequence[Sequence[int]]) -> list[list[int]]:
    """Split each quad from its first to its third corner into two triangles; normals stay."""
    return [half for a, b, c, d in quads for half in ([a, b, c], [c, d, a])]


def invers_normal(mesh: Sequence[Sequence[int]]) -> list[list[int]]:
    """Reverse the corners of elements, so that their normals flip."""
    return [list(element[::-1]) for element in mesh]


def shift_tab(tab: Sequence[Any]) -> list[Any]:
    """Return the entries with the first moved to the end."""
    return [*tab[1:], *tab[:1]]


def close_surface(ind_tab: Sequence[int]) -> list[list[int]]:
    """Return triangles that close a hole.

    Every second point of the edge is cut off by a triangle with its neighbours, and the remaining
    hole is closed in the same way. The triangles are wound as the indices.

    Args:
        ind_tab: Indices of the points on the hole's edge, in the order in which they follow.

    Returns:
        n - 2 triangles for n points; none for fewer than three.
    """
    edge, triangles = list(ind_tab), []
    while len(edge) >= 3:
        ring = [*edge, edge[0]]
        triangles += [ring[k : k + 3] for k in range(0, len(edge) - 1, 2)]
        edge = list(dict.fromkeys(edge[::2]))
    return triangles
