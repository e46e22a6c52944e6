"""Cubic interpolation in a cell of a grid, from values and gradients at its 2^d corners.

The element is the serendipity element of Adini, Clough and Melosh in d dimensions: with xi in
[-1, 1]^d and the signs s of a corner, its functions are

    value:      N_s   = 2^-(d+1) prod_j (1 + s_j xi_j) (2 + sum_j (s_j xi_j - xi_j^2)),
    gradient i: N_s,i = 2^-(d+1) prod_j (1 + s_j xi_j) s_i (xi_i^2 - 1), times half the spacing.

They have value 1 (slope 1 in direction i) at their own corner and all else 0 at every corner, and
the (1 + d) 2^d of them contain all polynomials of degree three. So the error of the value is
O(h^4), of the gradient O(h^3), as for tensor-product Hermite splines, but without their mixed
derivatives d2f/dx dy, ..., which a simulation does not give; tensor splines with mixed derivatives
of zero are of order two.

Continuity: on a face the value depends only on the corners of the face, so it is continuous
everywhere (C0), and the gradient is continuous at corners (C1). Across a face the derivative along
its normal jumps by O(h^3), the order of its error. Measured, root mean squares for the function of
tests/surrogate/grid/cells/test_spline.py, whose slopes are about 1: in d = 2 the error of the value
is 0.010 h^4, of the gradient 0.033 h^3, the jump 0.12 h^3; in d = 3 0.023 h^4, 0.053 h^3, 0.24 h^3.
Departure: Jia, Pan, Manocha 2019, section IV-C, take the splines of their reference [35], Lalescu
2009, whose tensor products want mixed derivatives or differences over neighbouring cells, thus more
corners than the 2^d that the paper counts. Source: Adini & Clough 1961; Melosh 1963 (d = 2); the
general d follows by the same conditions.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.surrogate.cells import spline_kernels as kernels

DIMENSIONS = range(1, 9)
"""Supported numbers of inputs; a cell of 8 has 256 corners."""


def signs(d: int) -> np.ndarray:
    """Return the signs of a cell's corners, shape (2^d, d): s_i = +1 if bit i of c is set."""
    if d not in DIMENSIONS:
        raise ValueError(f"Splines are for 1 to {DIMENSIONS[-1]} inputs. Got: {d}")
    return np.where((np.arange(1 << d)[:, None] >> np.arange(d)) & 1, 1, -1)


def weights(xi: np.ndarray) -> np.ndarray:
    """Return the weights of the values (0) and gradients (1 + i) at the corners.

    Args:
        xi: Positions in the cell [-1, 1]^d, shape (m, d).

    Returns:
        Shape (m, 2^d, 1 + d). Weights of gradients d / d xi; for d / dx_i multiply by h_i / 2.
    """
    return kernels.weights(_contiguous(xi))[..., 0]


def weight_hessians(xi: np.ndarray) -> np.ndarray:
    """Return the second derivatives of `weights` by xi, shape (m, 2^d, 1 + d, d, d)."""
    return kernels.weight_hessians(_contiguous(xi))


def evaluate(
    xi: np.ndarray,
    half: np.ndarray,
    corners: np.ndarray,
    data: np.ndarray,
    *,
    rows: np.ndarray | None = None,
    gradient: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Evaluate the splines and their gradients at points, each in its cell.

    Args:
        xi: Position of each point in its cell [-1, 1]^d, shape (m, d).
        half: Half the spacing of each point's cell [input], shape (m, d) or (d,).
        corners: Row of `data` of each corner of the cell, in the order of `signs`, shape (m, 2^d).
        data: Value (0) and gradient (1 + i) [output / input] at corners, shape (c, 1 + d, n).
        rows: Selected outputs, shape (k,); by default all n.
        gradient: Compute the gradient, which takes d times the time of the value.

    Returns:
        Value, shape (m, k), and gradient by the inputs, shape (m, k, d), or (0, k, d)
        without it.
    """
    xi = _contiguous(xi)
    m, d = xi.shape
    k = data.shape[2] if rows is None else len(rows)
    value = np.empty((m, k))
    slope = np.empty((m if gradient else 0, k, d))
    half = _contiguous(np.broadcast_to(half, (m, d)))
    if k:
        kernels.evaluate(xi, half, corners, data, _row_indices(rows), value, slope)
    return value, slope


def curvature(
    xi: np.ndarray,
    half: np.ndarray,
    corners: np.ndarray,
    data: np.ndarray,
    w: np.ndarray,
    *,
    rows: np.ndarray | None = None,
) -> np.ndarray:
    """Return the second derivatives of the weighted sum w . f.

    Its error is O(h^2), and so are its jumps between cells.

    Args:
        xi, half, corners, data, rows: As for `evaluate`.
        w: Weight of each output at each point, shape (m, k).

    Returns:
        Shape (m, d, d), symmetric [weight * output / input^2].
    """
    xi = _contiguous(xi)
    k = data.shape[2] if rows is None else len(rows)
    w = _contiguous(w)
    if w.shape != (len(xi), k):
        raise ValueError(f"w must have shape {(len(xi), k)}, points x outputs. Got: {w.shape}")
    half = _contiguous(np.broadcast_to(half, xi.shape))
    if k == 0:
        return np.zeros((*xi.shape, xi.shape[1]))
    return kernels.curvature(xi, half, corners, data, _row_indices(rows), w)


def _contiguous(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array, float)


def _row_indices(rows: np.ndarray | None) -> np.ndarray:
    return np.empty(0, np.int64) if rows is None else np.ascontiguousarray(rows, np.int64)
