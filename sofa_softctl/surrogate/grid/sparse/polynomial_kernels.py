"""Compiled loops of `polynomials` over points and terms."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit


@njit
def _legendre(t: float, degree: int, table: np.ndarray) -> None:
    """P_0 … P_degree at t with first and second derivatives, table (3, degree + 1).

    (n + 1) P_n+1 = (2 n + 1) t P_n - n P_n-1; P'_n+1 = P'_n-1 + (2 n + 1) P_n; likewise P''.
    """
    table[:, 0] = 0.0
    table[0, 0] = 1.0
    if degree:
        table[0, 1], table[1, 1], table[2, 1] = t, 1.0, 0.0
    for n in range(1, degree):
        table[0, n + 1] = ((2 * n + 1) * t * table[0, n] - n * table[0, n - 1]) / (n + 1)
        table[1, n + 1] = table[1, n - 1] + (2 * n + 1) * table[0, n]
        table[2, n + 1] = table[2, n - 1] + (2 * n + 1) * table[1, n]


@njit
def _product(table: np.ndarray, term: np.ndarray, first: int, second: int) -> float:
    """A term's product, differentiated once in each of two directions (-1: in none)."""
    product = 1.0
    for j in range(len(term)):
        order = (j == first) + (j == second)
        if term[j]:
            product *= table[j, order, term[j]]
        elif order:
            return 0.0
    return product


@njit
def rows(points: np.ndarray, terms: np.ndarray, out: np.ndarray) -> None:
    """Value and derivatives of each term at points (m, d), out (m, 1 or 1 + d, p)."""
    m, d = points.shape
    degree = terms.max()
    table = np.empty((d, 3, degree + 1))
    for k in range(m):
        for j in range(d):
            _legendre(points[k, j], degree, table[j])
        for p in range(len(terms)):
            out[k, 0, p] = _product(table, terms[p], -1, -1)
            for j in range(out.shape[1] - 1):
                out[k, 1 + j, p] = _product(table, terms[p], j, -1) if terms[p, j] else 0.0


@njit
def curvature(points: np.ndarray, terms: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Second derivatives of the sum of terms times w (m, p), shape (m, d, d)."""
    m, d = points.shape
    degree = terms.max()
    table = np.empty((d, 3, degree + 1))
    total = np.zeros((m, d, d))
    for k in range(m):
        for j in range(d):
            _legendre(points[k, j], degree, table[j])
        for p in range(len(terms)):
            for i in range(d):
                if not terms[p, i]:
                    continue
                for j in range(i + 1):
                    if terms[p, j]:
                        total[k, i, j] += w[k, p] * _product(table, terms[p], i, j)
        for i in range(d):
            for j in range(i):
                total[k, j, i] = total[k, i, j]
    return total
