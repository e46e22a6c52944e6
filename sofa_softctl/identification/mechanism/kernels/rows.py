"""Constraints and readings: scalar functions of two frames, and their derivatives."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.identification.mechanism.kernels.arrays import (
    DIRECTION,
    POINT,
    Frames,
    Readings,
    Tree,
)
from sofa_softctl.identification.mechanism.kernels.frames import (
    cross,
    dot,
    frames,
    place,
    slide,
    value,
)


@njit(separate=True)
def measure(
    tree: Tree, rows: Readings, rho: np.ndarray, at: Frames, h: np.ndarray, Dh: np.ndarray
) -> None:
    """Rows h, shape (n_r,), and their derivatives by all joints, shape (n_r, N)."""
    a, b, change, normal = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    Dh[:] = 0.0
    for r in range(rows.kind.shape[0]):
        kind = rows.kind[r]
        point = kind != DIRECTION
        place(at, rows.one[r], rows.at_one[r], point, a)
        place(at, rows.other[r], rows.at_other[r], point, b)
        h[r] = row_value(rows, r, a, b) - value(rows.target, r, rho)
        for end in range(2):
            row_normal(rows, r, a, b, end, normal)
            j = rows.one[r] if end == 0 else rows.other[r]
            while j >= 0:
                slide(at.S[j], a if end == 0 else b, point, change)
                Dh[r, j] += dot(normal, change)
                j = tree.parent[j]


@njit
def row_value(rows: Readings, r: int, a: np.ndarray, b: np.ndarray) -> float:
    """Value of row r with its ends at a and b."""
    if rows.kind[r] == DIRECTION:
        return dot(a, b)
    if rows.kind[r] == POINT:
        return dot(rows.along[r], a) - dot(rows.along[r], b)
    d = a - b
    return np.sqrt(dot(d, d))


@njit
def row_normal(
    rows: Readings, r: int, a: np.ndarray, b: np.ndarray, end: int, out: np.ndarray
) -> None:
    """Derivative of row r by one of its ends."""
    if rows.kind[r] == DIRECTION:
        out[:] = b if end == 0 else a
        return
    sign = 1.0 if end == 0 else -1.0
    if rows.kind[r] == POINT:
        out[:] = sign * rows.along[r]
        return
    d = a - b
    out[:] = sign / np.sqrt(dot(d, d)) * d


@njit(separate=True)
def add_curvature(tree: Tree, at: Frames, weights: np.ndarray, out: np.ndarray) -> None:
    """out += second derivatives of weights . h by all joints, shape (N, N)."""
    rows = tree.closed
    a, b, normal = np.empty(3), np.empty(3), np.empty(3)
    change, twice = np.empty((2, tree.parent.shape[0], 3)), np.empty(3)
    for r in range(rows.kind.shape[0]):
        point, w = rows.kind[r] != DIRECTION, weights[r]
        place(at, rows.one[r], rows.at_one[r], point, a)
        place(at, rows.other[r], rows.at_other[r], point, b)
        for end in range(2):
            row_normal(rows, r, a, b, end, normal)
            j = rows.one[r] if end == 0 else rows.other[r]
            while j >= 0:
                slide(at.S[j], a if end == 0 else b, point, change[end, j])
                i = j
                while i >= 0:
                    cross(at.S[i, :3], change[end, j], twice)
                    add = w * dot(normal, twice)
                    out[i, j] += add
                    if i != j:
                        out[j, i] += add
                    i = tree.parent[i]
                j = tree.parent[j]
        if rows.kind[r] == POINT:
            continue
        row_normal(rows, r, a, b, 0, normal)
        d = a - b
        length = np.sqrt(dot(d, d))
        for first in range(2):
            i = rows.one[r] if first == 0 else rows.other[r]
            while i >= 0:
                for second in range(2):
                    j = rows.one[r] if second == 0 else rows.other[r]
                    while j >= 0:
                        u, t = change[first, i], change[second, j]
                        if rows.kind[r] == DIRECTION:
                            out[i, j] += w * dot(u, t) if first != second else 0.0
                        else:
                            sign = 1.0 if first == second else -1.0
                            flat = dot(u, t) - dot(normal, u) * dot(normal, t)
                            out[i, j] += w * sign * flat / length
                        j = tree.parent[j]
                i = tree.parent[i]


@njit(separate=True)
def readings(
    tree: Tree, rows: Readings, rho: np.ndarray, q: np.ndarray, y: np.ndarray, y_q: np.ndarray
) -> None:
    """Rows along a motion, into y, shape (K + 1, n_r), and by all joints y_q, (K + 1, n_r, N)."""
    for k in range(q.shape[0]):
        measure(tree, rows, rho, frames(tree, rho, q[k]), y[k], y_q[k])
