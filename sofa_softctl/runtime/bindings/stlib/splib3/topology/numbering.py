"""Indices of points and elements after a change of the points' order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Point = Sequence[float]
Mesh = Sequence[Sequence[int]]


def default_indices(length: int) -> list[int]:
    """Return 0, 1, ..., length - 1."""
    return list(range(length))


def index_from_axis(
    points: Sequence[Point], axis: int, old_indices: Sequence[int] | None = None
) -> tuple[list[Point], list[int]]:
    """Sort points by ascending coordinate along an axis; equal ones stay in their order.

    Args:
        points: Coordinates [scene length], shape (n, 3).
        axis: 0, 1 or 2 for x, y or z.
        old_indices: Indices of the points, shape (n,); 0 to n - 1 if left out.

    Returns:
        The sorted points, and the old index of each.

    Raises:
        ValueError: The number of indices differs from the number of points.
    """
    indices = default_indices(len(points)) if old_indices is None else old_indices
    if len(indices) != len(points):
        raise ValueError(
            f"index_from_axis takes one old index for each point, got {len(indices)} for "
            f"{len(points)} points. Leave old_indices out (None) to count them from 0."
        )
    order = sorted(default_indices(len(points)), key=lambda i: points[i][axis])
    return [points[i] for i in order], [indices[i] for i in order]


def reindex_mesh(ind_tab: Sequence[int], mesh: Mesh) -> list[list[int]]:
    """Return elements with the new indices of their points.

    Args:
        ind_tab: Old index of each point, in the new order, as index_from_axis returns it.
        mesh: Elements, lists of old indices.

    Raises:
        ValueError: An index of the mesh is not in ind_tab.
    """
    return _renumber("reindex_mesh", mesh, ((old, new) for new, old in enumerate(ind_tab)))


def remesh_from_axis(
    points: Sequence[Point], mesh: Mesh, axis: int, old_indices: Sequence[int] | None = None
) -> tuple[list[Point], list[int], list[list[int]]]:
    """Return points sorted along an axis, the old index of each, and the mesh with new indices.

    Arguments and errors as in index_from_axis and reindex_mesh.
    """
    new_points, ind_tab = index_from_axis(points, axis, old_indices)
    return new_points, ind_tab, reindex_mesh(ind_tab, mesh)


def conv_tab_from_ind_tab(ind_tab: Sequence[int]) -> list[list[int]]:
    """Return pairs [new index, old index] of the old indices in the new order."""
    return [[new, old] for new, old in enumerate(ind_tab)]


def new_idx_from_conv_tab(mesh: Mesh, conv_tab: Iterable[Sequence[int]]) -> list[list[int]]:
    """Replace indices of elements, the first of each pair, by the second.

    Raises:
        ValueError: An index of the mesh is not the first of a pair.
    """
    return _renumber("new_idx_from_conv_tab", mesh, ((pair[0], pair[1]) for pair in conv_tab))


def _renumber(caller: str, mesh: Mesh, pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Replace indices of elements by (before, after) pairs; the first of equal pairs counts."""
    after: Mapping[Any, int] = dict(reversed(list(pairs)))
    unknown = sorted({int(node) for element in mesh for node in element if node not in after})
    if unknown:
        raise ValueError(
            f"{caller}: the mesh has indices that the table does not have: {unknown[:5]}"
            f"{', ...' if len(unknown) > 5 else ''}. Give elements whose points are all in it: "
            "the mesh and the indices of the same region."
        )
    return [[after[node] for node in element] for element in mesh]
