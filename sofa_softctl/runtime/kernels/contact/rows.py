"""Rows of contacts: their directions on nodes, their violation, and how long they slide."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit


@njit
def contact_rows(
    elements: np.ndarray,
    touched: np.ndarray,
    weights: np.ndarray,
    side: int,
    frames: np.ndarray,
    rows_each: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the directions of contacts on the nodes of one side, as triplets.

    Args:
        elements: Nodes of each element of the side, shape (m, k).
        touched: Element of each side, shape (p, 2).
        weights: Weights of the nodes of each side [-], shape (p, 2, 3).
        side: 0, on which the contacts act backwards, or 1.
        frames: Normal and tangents of each contact, shape (p, 3, 3).
        rows_each: Rows of a contact, 3 with friction, else 1.

    Returns:
        row (n,), node (n,), direction (n, 3), without nodes of weight 0.
    """
    sign, corners = 2.0 * side - 1.0, elements.shape[1]
    size = len(touched) * rows_each * corners
    row, node = np.empty(size, np.int64), np.empty(size, np.int64)
    direction = np.empty((size, 3))
    count = 0
    for p in range(len(touched)):
        e = touched[p, side]
        for r in range(rows_each):
            for k in range(corners):
                weight = weights[p, side, k]
                if weight == 0.0:
                    continue
                row[count], node[count] = rows_each * p + r, elements[e, k]
                for c in range(3):
                    direction[count, c] = sign * weight * frames[p, r, c]
                count += 1
    return row[:count], node[:count], direction[:count]


@njit
def point_motions(
    elements: np.ndarray,
    touched: np.ndarray,
    weights: np.ndarray,
    side: int,
    x: np.ndarray,
    x_free: np.ndarray,
) -> np.ndarray:
    """Return the free motion of the contact points of one side, fixed in their elements, (p, 3).

    Args:
        elements, touched, weights, side: As in `contact_rows`.
        x, x_free: Positions at the start, and of the free motion [length], shape (n, >= 3).
    """
    motions = np.zeros((len(touched), 3))
    for p in range(len(touched)):
        for k in range(elements.shape[1]):
            node = elements[touched[p, side], k]
            for c in range(3):
                motions[p, c] += weights[p, side, k] * (x_free[node, c] - x[node, c])
    return motions


@njit
def contact_violation(
    points: np.ndarray,
    frames: np.ndarray,
    contact_distance: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    rows_each: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the violation of each row, and the whole free sliding of each contact.

    A contact slides only in the remainder of the step after its gap has closed.

    Args:
        points: The two near points of each contact [length], shape (p, 2, 3).
        frames: Normal and tangents of each contact, shape (p, 3, 3).
        contact_distance: Distance that each contact keeps [length], shape (p,).
        first, second: Free motion of the two points [length], shape (p, 3).
        rows_each: Rows of a contact, 3 with friction, else 1.

    Returns:
        The violation [length], shape (rows_each p,), and the sliding [length], shape (p, 2).
    """
    count = len(points)
    violation, slide = np.empty((count, rows_each)), np.empty((count, 2))
    motion = np.empty(3)
    for p in range(count):
        gap = -contact_distance[p]
        length = np.sqrt((first[p] ** 2).sum()) + np.sqrt((second[p] ** 2).sum())
        motion[:] = 0.0
        for c in range(3):
            gap += (points[p, 1, c] - points[p, 0, c]) * frames[p, 0, c]
            for r in range(3):
                motion[r] += frames[p, r, c] * (second[p, c] - first[p, c])
        slide[p] = motion[1:]
        free = gap + motion[0]
        violation[p, 0] = free
        if rows_each == 3:
            violation[p, 1:] = motion[1:] * _share_in_contact(gap, free, length)
    return violation.ravel(), slide


@njit
def share_in_contact(gap: np.ndarray, free: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Return the fraction of the step in which contacts are closed in the free motion, shape (p,).

    Args:
        gap: Gap at the start of the step [length], shape (p,).
        free: Gap after the free motion [length], shape (p,).
        length: Path length of both points [length], shape (p,).
    """
    share = np.empty(len(gap))
    for p in range(len(gap)):
        share[p] = _share_in_contact(gap[p], free[p], length[p])
    return share


@njit(inner=True)
def _share_in_contact(gap: float, free: float, length: float) -> float:
    """Return the fraction for one contact, as SOFA computes it."""
    if abs(gap) < 1e-5 * length and abs(free) < 1e-5 * length:
        return 1.0  # it rests
    if not abs(gap - free) > 0.001 * gap:
        return 1.0
    if gap != free:
        closes_at = gap / (gap - free)
        if 0.0 < closes_at < 1.0:
            return 1.0 - closes_at
    return 1.0 if free < 0.0 else 0.0
