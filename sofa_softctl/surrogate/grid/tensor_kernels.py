"""Tensor-product splines of three inputs, compiled: values with gradients, and curvatures.

Fewer inputs are a tensor product with constants. Sources: de Boor 1978, chapters X and XVII.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def _basis(knots: np.ndarray, degree: int, x: float, B: np.ndarray) -> int:
    """Evaluate the non-zero basis splines at x, with two derivatives, into B (3, degree + 1).

    Returns:
        Index of the first non-zero spline, or -1 if x is outside.
    """
    last = len(knots) - degree - 1
    if not knots[degree] <= x <= knots[last]:
        return -1
    interval = int(np.searchsorted(knots, x, side="right")) - 1
    if interval >= last:  # at the end of the box
        interval = last - 1
    for order in range(3):
        k = degree - order  # of the splines that are differentiated `order` times
        if k < 0:
            B[order, :] = 0.0
            continue
        B[order, 0] = 1.0
        for j in range(1, k + 1):
            saved = 0.0
            for r in range(j):
                right, left = knots[interval + r + 1], knots[interval + 1 - j + r]
                part = B[order, r] / (right - left)
                B[order, r] = saved + (right - x) * part
                saved = (x - left) * part
            B[order, j] = saved
        for j in range(k + 1, degree + 1):  # each differentiation raises the degree by one
            for r in range(j, -1, -1):
                first = interval - j + r
                below = 0.0
                if r > 0:
                    below = B[order, r - 1] / (knots[first + j] - knots[first])
                above = 0.0
                if r < j:
                    above = B[order, r] / (knots[first + j + 1] - knots[first + 1])
                B[order, r] = j * (below - above)
    return interval - degree


@njit(cache=True, fastmath={"contract", "reassoc"})
def values_and_gradients(
    coefficients: np.ndarray,
    knots: np.ndarray,
    starts: np.ndarray,
    degrees: np.ndarray,
    points: np.ndarray,
    values: np.ndarray,
    gradients: np.ndarray,
) -> None:
    """Fill values (m, n) and gradients (m, n, 3) at points (m, 3); NaN outside.

    Args:
        coefficients: Coefficients of the splines, shape (c_0, c_1, c_2, n).
        knots: Knots of all inputs, concatenated.
        starts: Start of the knots of each input, and end of all, shape (4,).
        degrees: Degree in each input, shape (3,).
        points: Points, shape (m, 3).
        values: Output.
        gradients: Output.
    """
    n = coefficients.shape[3]
    B = np.zeros((3, 3, degrees.max() + 1))
    first = np.zeros(3, np.int64)
    along, across = np.zeros(n), np.zeros(n)
    sums = np.zeros((4, n))
    for p in range(len(points)):
        inside = True
        for i in range(3):
            input_knots = knots[starts[i] : starts[i + 1]]
            first[i] = _basis(input_knots, degrees[i], points[p, i], B[i, :, : degrees[i] + 1])
            inside = inside and first[i] >= 0
        if not inside:
            values[p], gradients[p] = np.nan, np.nan
            continue
        sums[:] = 0.0
        for a in range(degrees[0] + 1):
            for b in range(degrees[1] + 1):
                row = coefficients[first[0] + a, first[1] + b]
                along[:] = 0.0
                across[:] = 0.0
                for c in range(degrees[2] + 1):
                    value, slope, outputs = B[2, 0, c], B[2, 1, c], row[first[2] + c]
                    for e in range(n):
                        along[e] += value * outputs[e]
                        across[e] += slope * outputs[e]
                weight_01, slope_0 = B[0, 0, a] * B[1, 0, b], B[0, 1, a] * B[1, 0, b]
                slope_1 = B[0, 0, a] * B[1, 1, b]
                for e in range(n):
                    sums[0, e] += weight_01 * along[e]
                    sums[1, e] += slope_0 * along[e]
                    sums[2, e] += slope_1 * along[e]
                    sums[3, e] += weight_01 * across[e]
        for e in range(n):
            values[p, e] = sums[0, e]
            for i in range(3):
                gradients[p, e, i] = sums[1 + i, e]


@njit(cache=True, fastmath={"contract", "reassoc"})
def curvatures(
    coefficients: np.ndarray,
    knots: np.ndarray,
    starts: np.ndarray,
    degrees: np.ndarray,
    points: np.ndarray,
    weights: np.ndarray,
    total: np.ndarray,
) -> None:
    """Fill second derivatives of outputs times weights (m, n) at points (m, 3), (m, 3, 3).

    Arguments as for `values_and_gradients`.
    """
    n = coefficients.shape[3]
    B = np.zeros((3, 3, degrees.max() + 1))
    first = np.zeros(3, np.int64)
    order = np.zeros(3, np.int64)
    for p in range(len(points)):
        inside = True
        for i in range(3):
            input_knots = knots[starts[i] : starts[i + 1]]
            first[i] = _basis(input_knots, degrees[i], points[p, i], B[i, :, : degrees[i] + 1])
            inside = inside and first[i] >= 0
        total[p] = 0.0 if inside else np.nan
        if not inside:
            continue
        for a in range(degrees[0] + 1):
            for b in range(degrees[1] + 1):
                row = coefficients[first[0] + a, first[1] + b]
                for c in range(degrees[2] + 1):
                    outputs, contracted = row[first[2] + c], 0.0
                    for e in range(n):
                        contracted += weights[p, e] * outputs[e]
                    for i in range(3):
                        for j in range(i + 1):
                            order[:] = 0
                            order[i] += 1
                            order[j] += 1
                            total[p, i, j] += (
                                contracted
                                * B[0, order[0], a]
                                * B[1, order[1], b]
                                * B[2, order[2], c]
                            )
        for i in range(3):
            for j in range(i):
                total[p, j, i] = total[p, i, j]
