"""Dense algebra of a few dozen numbers, in an order of the sums that no library chooses."""

from __future__ import annotations

import numpy as np

from sofa_softctl.jit import njit


@njit
def solve_in_place(E: np.ndarray, F: np.ndarray) -> float:
    """F becomes E^-1 F by Gaussian elimination with row pivoting; E is overwritten.

    Returns:
        The smallest pivot over the largest; F is of no use if it is tiny.
    """
    k, width = F.shape
    least, largest = np.inf, 0.0
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
        least, largest = min(least, abs(pivot)), max(largest, abs(pivot))
        if least <= 1e-14 * largest:
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
    return least / largest


@njit
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


@njit
def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A B, in an order of the sums that no library chooses."""
    n, k = A.shape
    out = np.zeros((n, B.shape[1]))
    for i in range(n):
        for l in range(k):
            a = A[i, l]
            if a != 0.0:
                for j in range(B.shape[1]):
                    out[i, j] += a * B[l, j]
    return out


@njit
def applied(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A x."""
    out = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        value = 0.0
        for j in range(A.shape[1]):
            value += A[i, j] * x[j]
        out[i] = value
    return out
