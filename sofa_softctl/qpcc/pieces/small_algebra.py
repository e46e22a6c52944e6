"""Small dense linear algebra with a fixed order of sums, independent of BLAS."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit


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
    """E Y = F where E may be singular, by Gaussian elimination with row pivoting.

    A column without a pivot depends on those before it.

    Args:
        E: Shape (k, k), overwritten.
        F: Right-hand sides, shape (k, m), overwritten.
        small: Pivots below this share of the largest entry are zero [-].

    Returns:
        Y, shape (k, m), of least norm; an orthonormal basis N^T of the null space of E, shape
        (free, k); what is left of F in the dependent rows, shape (free, m).
    """
    k, m = F.shape
    zero, rank, free = 0.0, 0, 0
    for i in range(k):
        for j in range(k):
            zero = max(zero, abs(E[i, j]))
    zero *= small
    column_of, dependent = np.empty(k, np.int64), np.empty(k, np.int64)
    for j in range(k):
        best = rank
        for i in range(rank + 1, k):
            if abs(E[i, j]) > abs(E[best, j]):
                best = i
        pivot = E[best, j]
        if not abs(pivot) > zero:
            dependent[free] = j
            free += 1
            continue
        if best != rank:
            for l in range(j, k):
                E[rank, l], E[best, l] = E[best, l], E[rank, l]
            for l in range(m):
                F[rank, l], F[best, l] = F[best, l], F[rank, l]
        for i in range(rank + 1, k):
            factor = E[i, j] / pivot
            if factor != 0.0:
                for l in range(j + 1, k):
                    E[i, l] -= factor * E[rank, l]
                for l in range(m):
                    F[i, l] -= factor * F[rank, l]
        column_of[rank] = j
        rank += 1
    Y, N = np.zeros((k, m)), np.zeros((free, k))
    for r in range(rank - 1, -1, -1):
        p = column_of[r]
        for l in range(m):
            F[r, l] /= E[r, p]
            Y[p, l] = F[r, l]
        for i in range(r):
            factor = E[i, p]
            if factor != 0.0:
                for l in range(m):
                    F[i, l] -= factor * F[r, l]
    for f in range(free):
        N[f, dependent[f]] = 1.0
        for r in range(rank - 1, -1, -1):
            p, value = column_of[r], 0.0
            for j in range(p + 1, k):
                value -= E[r, j] * N[f, j]
            N[f, p] = value / E[r, p]
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


@njit(inner=True, separate=True, fastmath=True)
def solve_least_squares(
    E: np.ndarray, F: np.ndarray, small: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """E Y = F where E is singular, by Householder's QR with column pivoting.

    Args:
        E: Shape (k, k).
        F: Right-hand sides, shape (k, m).
        small: Pivots below this share of the first are zero [-].

    Returns:
        Y, shape (k, m), the least-squares solution of least norm; an orthonormal basis N^T of
        the null space of E, shape (free, k); the components of F outside its range, (free, m).

    Source: Golub and Van Loan, "Matrix Computations", 4th edition, sections 5.4.2 and 5.5.6.
    """
    k, m = F.shape
    R, G, order = E.T.copy(), F.T.copy(), np.arange(k)  # transposed: columns lie together
    rank, first = k, 0.0
    for j in range(k):
        best, largest = j, -1.0
        for c in range(j, k):
            square = 0.0
            for i in range(j, k):
                square += R[c, i] * R[c, i]
            if square > largest:
                best, largest = c, square
        norm = np.sqrt(largest)
        first = max(first, norm)
        if norm <= small * first:
            rank = j
            break
        order[j], order[best] = order[best], order[j]
        for i in range(k):
            R[j, i], R[best, i] = R[best, i], R[j, i]
        _reflect(R, G, j, norm)
    free = k - rank
    Y, N = np.zeros((m, k)), np.zeros((free, k))
    for l in range(m):
        _substitute(R, G[l].copy(), rank, order, Y[l])
    for l in range(free):
        _substitute(R, -R[rank + l], rank, order, N[l])
        N[l, order[rank + l]] = 1.0
        _project_out(N[:l], N[l])
        _project_out(N[:l], N[l])  # again, against rounding
        N[l] /= np.sqrt((N[l] * N[l]).sum())
    for l in range(m):
        _project_out(N, Y[l])
    return Y.T.copy(), N, G[:, rank:].T.copy()


@njit(inner=True, fastmath=True)
def _substitute(R: np.ndarray, g: np.ndarray, rank: int, order: np.ndarray, y: np.ndarray) -> None:
    """Solve with the leading part of R, stored by columns, for the unknowns in y; g is changed."""
    for c in range(rank - 1, -1, -1):
        value = g[c] / R[c, c]
        y[order[c]] = value
        for i in range(c):
            g[i] -= value * R[c, i]


@njit(inner=True, separate=True, fastmath=True)
def _reflect(R: np.ndarray, G: np.ndarray, j: int, norm: float) -> None:
    """Zero column j of R below its diagonal by a reflection, also applied to G.

    Both are stored by columns.
    """
    k = len(R)
    v = R[j, j:].copy()
    diagonal = -norm if v[0] > 0.0 else norm
    v[0] -= diagonal
    half = 0.5 * (v * v).sum()
    for A, begin in ((R, j + 1), (G, 0)):
        for c in range(begin, len(A)):
            along = 0.0
            for i in range(j, k):
                along += v[i - j] * A[c, i]
            along /= half
            for i in range(j, k):
                A[c, i] -= along * v[i - j]
    R[j, j] = diagonal
    R[j, j + 1 :] = 0.0


@njit(inner=True, fastmath=True)
def _project_out(N: np.ndarray, y: np.ndarray) -> None:
    """Remove from y, in place, its components along the orthonormal rows of N."""
    for l in range(len(N)):
        along = 0.0
        for i in range(len(y)):
            along += N[l, i] * y[i]
        for i in range(len(y)):
            y[i] -= along * N[l, i]


@njit(inner=True, separate=True, fastmath=True)
def cholesky(H: np.ndarray, L: np.ndarray, floor: float) -> bool:
    """Lower factor of H; False where a pivot is below `floor`."""
    n = len(H)
    for j in range(n):
        for i in range(j, n):
            value = H[i, j]
            for l in range(j):
                value -= L[i, l] * L[j, l]
            if i == j:
                if not value > floor:
                    return False
                L[j, j] = np.sqrt(value)
            else:
                L[i, j] = value / L[j, j]
        for i in range(j):
            L[i, j] = 0.0
    return True


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
