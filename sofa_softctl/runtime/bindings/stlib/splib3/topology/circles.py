"""Circles in the points of a cylinder, and the order of points around them.

A circle is a list of points [scene length]; a cylinder a list of circles. Each is returned with the
indices of its points, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import Sofa
from splib3.topology.numbering import Point, default_indices, index_from_axis

Circles = Sequence[Sequence[Point]]
_PLANES = {0: (1, 2), 1: (0, 2), 2: (0, 1)}
"""Coordinates in the plane of circles around an axis."""


def circle_detection_regular(
    points: Sequence[Point], pt_per_slice: int, indices: Sequence[int] | None = None
) -> tuple[list[Any], list[Any]]:
    """Split points that are sorted along the axis into circles of `pt_per_slice` points.

    Args:
        points: Sorted points, shape (n, 3).
        pt_per_slice: Points of a circle. An incomplete circle at the end is left out, with a
            warning.
        indices: Indices of the points, shape (n,); 0 to n - 1 if left out.

    Returns:
        The points of each circle, and their indices.
    """
    indices = default_indices(len(points)) if indices is None else indices
    count, remainder = divmod(len(points), pt_per_slice)
    if remainder:
        Sofa.msg_warning(
            "circle_detection_regular",
            f"{len(points)} points are no whole number of circles of {pt_per_slice}: the last "
            f"{remainder} are left out. Give the number of points of a circle as pt_per_slice.",
        )
    slices = [slice(k * pt_per_slice, (k + 1) * pt_per_slice) for k in range(count)]
    return [points[k] for k in slices], [indices[k] for k in slices]


def circle_detection_axis(
    points: Sequence[Point],
    axis: int,
    tolerance: float = 0,
    indices: Sequence[int] | None = None,
) -> tuple[list[list[Point]], list[list[int]]]:
    """Split points into circles of equal coordinate along an axis, in ascending order.

    A circle ends where the next point is farther along the axis than the tolerance. Only distances
    of neighbours count: a chain of closer points is one circle of any length.

    Args:
        points: Points in any order, shape (n, 3).
        axis: 0, 1 or 2 for a cylinder along x, y or z.
        tolerance: Largest distance of neighbours in a circle [scene length].
        indices: Indices of the points, shape (n,); 0 to n - 1 if left out.

    Returns:
        The points of each circle, and their indices.

    Raises:
        ValueError: There are no points, or the number of indices differs.
    """
    if not len(points):
        raise ValueError("circle_detection_axis: there are no points in which to find circles.")
    ordered, numbers = index_from_axis(points, axis, indices)
    circles, circle_indices = [[ordered[0]]], [[numbers[0]]]
    for before, point, number in zip(ordered, ordered[1:], numbers[1:], strict=False):
        if point[axis] > before[axis] + tolerance:
            circles.append([])
            circle_indices.append([])
        circles[-1].append(point)
        circle_indices[-1].append(number)
    return circles, circle_indices


def ordering_circle(
    circle: Sequence[Point], ind_tab: Sequence[int], x_ref: int = 1, y_ref: int = 2
) -> tuple[list[Point], list[int]]:
    """Sort points around a circle: from x_ref to y_ref, from the lowest.

    Points beyond the mean along x_ref by ascending y_ref, then the others by descending y_ref.
    That is their order around a circle, unless two points of one half are equally high, as on the
    sides of a rectangle.

    Args:
        circle: Points, shape (n, 2) or (n, 3).
        ind_tab: Index of each point.
        x_ref: First coordinate of the circle's plane, 0, 1 or 2.
        y_ref: Second coordinate of the circle's plane.

    Returns:
        The points and their indices in the new order.

    Raises:
        ValueError: x_ref or y_ref is not 0, 1 or 2.
    """
    if not {x_ref, y_ref} <= {0, 1, 2}:
        raise ValueError(
            f"ordering_circle: x_ref and y_ref are coordinates, 0, 1 or 2; got {x_ref}, {y_ref}."
        )
    # STLIB's mean of a row of numbers: another order of summation would put points on the
    # diameter into the other half
    middle = np.mean([point[x_ref] for point in circle])
    rising = [k for k, point in enumerate(circle) if point[x_ref] > middle]
    falling = [k for k, point in enumerate(circle) if not point[x_ref] > middle]
    rising.sort(key=lambda k: circle[k][y_ref])
    falling.sort(key=lambda k: circle[k][y_ref], reverse=True)
    order = rising + falling
    return [circle[k] for k in order], [ind_tab[k] for k in order]


def ordering_cylinder(
    circle_tab: Circles, ind_tab: Sequence[Sequence[int]], axis: int = 0
) -> tuple[list[list[Point]], list[list[int]]]:
    """Sort each circle of a cylinder by ordering_circle.

    Args:
        circle_tab: Points of each circle.
        ind_tab: Indices of each circle's points.
        axis: 0, 1 or 2 for a cylinder along x, y or z.

    Returns:
        The points of each circle, and their indices, in the new order.

    Raises:
        ValueError: axis is not 0, 1 or 2.
    """
    if axis not in _PLANES:
        raise ValueError(f"ordering_cylinder: axis is a coordinate, 0, 1 or 2; got {axis}.")
    ordered = [
        ordering_circle(circle, indices, *_PLANES[axis])
        for circle, indices in zip(circle_tab, ind_tab, strict=True)
    ]
    return [points for points, _ in ordered], [indices for _, indices in ordered]
