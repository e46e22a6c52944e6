"""Elements of surfaces: quads halved, sides turned, holes closed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def quad_2_triangles(quads: Sequence[Sequence[int]]) -> list[list[int]]:
    """Two triangles for each quad, cut from its first corner to the third; normals stay."""
    return [half for a, b, c, d in quads for half in ([a, b, c], [c, d, a])]


def invers_normal(mesh: Sequence[Sequence[int]]) -> list[list[int]]:
    """Elements with their corners in reverse order, so that their normals turn round."""
    return [list(element[::-1]) for element in mesh]


def shift_tab(tab: Sequence[Any]) -> list[Any]:
    """The entries, of which the first comes last."""
    return [*tab[1:], *tab[:1]]


def close_surface(ind_tab: Sequence[int]) -> list[list[int]]:
    """Triangles that close a hole.

    Every second point of the edge is cut off by a triangle with its neighbours, and what is left
    is closed in the same way. The sense of the triangles is that of the indices.

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
