"""Small dense linear algebra with a fixed order of sums, independent of BLAS."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit

PIVOT_MIN = 0.01
"""Pivots below this share of the largest entry are looked for in all columns [-]: small ones would
hide how many rows depend on others."""


@njit(inner=True, separate=True, fastmath=True)
def solve_in_place(E: np.ndarray, F: np.ndarray) -> float:
    """Overwrite F by E^-1 F, by Gaussian elimination with row pivoting; E is overwritten.

    Returns:
        The smallest pivot over the largest; F is useless if it is tiny.
    """
    k, width = F.shape
    smallest, largest = np.inf, 0.0
    for j in range(k):
        best = j
        for i in range(j + 1, k):
            if abs(E[i, j]) > abs(E[best, j]):
                best = i
        if best != j:
            for l in range(j, k):
                E[j, l], E[best, l] = E[best, l], E[j, l]
            for l in range(width):
                F[j, l], F[best, l] = F[best, l], F[j, l]
        pivot = E[j, j]
        smallest, largest = min(smallest, abs(pivot)), max(largest, abs(pivot))
        if smallest <= 1e-14 * largest:
            return 0.0
        for i in range(j + 1, k):
            a = E[i, j] / pivot
            if a != 0.0:
                for l in range(j + 1, k):
                    E[i, l] -= a * E[j, l]
                for l in range(width):
                    F[i, l] -= a * F[j, l]
    for j in range(k - 1, -1, -1):
        for l in range(width):
            F[j, l] /= E[j, j]
        for i in range(j):
            a = E[i, j]
            if a != 0.0:
                for l in range(width):
                    F[i, l] -= a * F[j, l]
    return smallest / largest


@njit(inner=True, separate=True, fastmath=True)
def solve_dependent(
    E: np.ndarray, F: np.ndarray, small: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """E Y = F where E may be singular, by Gaussian elimination.

    Pivots are the largest of their column, or, where that is small, of all that remains.

    Args:
        E: Shape (k, k), overwritten.
        F: Right-hand sides, shape (k, m), overwritten.
        small: Pivots below this share of the largest entry are zero [-].

    Returns:
        Y, shape (k, m), of least norm; an orthonormal basis N^T of the null space of E, shape
        (free, k); what is left of F in the dependent rows, shape (free, m).
    """
    k, m = F.shape
    size, rank, order = 0.0, k, np.arange(k)
    for i in range(k):
        for j in range(k):
            size = max(size, abs(E[i, j]))
    for j in range(k):
        best, column = j, j
        for i in range(j + 1, k):
            if abs(E[i, j]) > abs(E[best, j]):
                best = i
        if not abs(E[best, j]) > PIVOT_MIN * size:
            for i in range(j, k):
                for l in range(j, k):
                    if abs(E[i, l]) > abs(E[best, column]):
                        best, column = i, l
            if not abs(E[best, column]) > small * size:
                rank = j
                break
        if column != j:
            order[j], order[column] = order[column], order[j]
            for i in range(k):
                E[i, j], E[i, column] = E[i, column], E[i, j]
        if best != j:
            for l in range(j, k):
                E[j, l], E[best, l] = E[best, l], E[j, l]
            for l in range(m):
                F[j, l], F[best, l] = F[best, l], F[j, l]
        for i in range(j + 1, k):
            factor = E[i, j] / E[j, j]
            if factor != 0.0:
                for l in range(j + 1, k):
                    E[i, l] -= factor * E[j, l]
                for l in range(m):
                    F[i, l] -= factor * F[j, l]
    Y, N = np.zeros((k, m)), np.zeros((k - rank, k))
    for j in range(rank - 1, -1, -1):
        for l in range(m):
            F[j, l] /= E[j, j]
            Y[order[j], l] = F[j, l]
        for i in range(j):
            factor = E[i, j]
            if factor != 0.0:
                for l in range(m):
                    F[i, l] -= factor * F[j, l]
    for f in range(k - rank):
        N[f, order[rank + f]] = 1.0
        for j in range(rank - 1, -1, -1):
            value = -E[j, rank + f]
            for l in range(j + 1, rank):
                value -= E[j, l] * N[f, order[l]]
            N[f, order[j]] = value / E[j, j]
        _project_out(N[:f], N[f])
        _project_out(N[:f], N[f])  # again, against rounding
        N[f] /= np.sqrt((N[f] * N[f]).sum())
        for l in range(m):
            along = 0.0
            for i in range(k):
                along += N[f, i] * Y[i, l]
            for i in range(k):
                Y[i, l] -= along * N[f, i]
    return Y, N, F[rank:]


@njit(inner=True, fastmath=True)
def _project_out(N: np.ndarray, y: np.ndarray) -> None:
    """Remove from y, in place, its components along the orthonormal rows of N."""
    for l in range(len(N)):
        along = 0.0
        for i in range(len(y)):
            along += N[l, i] * y[i]
        for i in range(len(y)):
            y[i] -= along * N[l, i]


@njit(inner=True, fastmath=True)
def multiply(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A B, with a fixed order of sums."""
    n, k = A.shape
    out = np.zeros((n, B.shape[1]))
    for i in range(n):
        for l in range(k):
            a = A[i, l]
            if a != 0.0:
                for j in range(B.shape[1]):
                    out[i, j] += a * B[l, j]
    return out


@njit(inner=True, fastmath=True)
def times_vector(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A x."""
    out = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        value = 0.0
        for j in range(A.shape[1]):
            value += A[i, j] * x[j]
        out[i] = value
    return out
