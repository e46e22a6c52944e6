"""Convex relaxations of the inverse problem with contacts, compiled.

A relaxation leaves some contacts open; it is a QP over efforts and contact forces.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.qp.active_set import (
    SOLVED,
    ActiveSet,
    cholesky,
    dual_active_set,
    unconstrained_optimum,
)
from sofa_softctl.qpcc.pieces.kernels import INACTIVE, OPEN, STICKING, Statement
from sofa_softctl.qpcc.pieces.small_algebra import times_vector


class Convex(NamedTuple):
    """1/2 v^T H v + g^T v + constant over v = (efforts, forces), and its optimum without limits."""

    H: np.ndarray
    """Shape (n_z, n_z)."""
    g: np.ndarray
    """Shape (n_z,)."""
    constant: float
    """The objective at v = 0."""
    anchor: float
    """Regularisation of free variables, relative to the scaled Hessian's diagonal."""
    optimum: ActiveSet
    """Unconstrained optimum in the scaled variables v / (scale * size)."""


@njit
def relaxed_objective(
    s: Statement, open_: np.ndarray, scale: np.ndarray, size: float, center: np.ndarray
) -> tuple[bool, Convex]:
    """The objective of a relaxation, with the work of open contacts.

    lam . delta <= 0 on every contact that obeys its law: contacts only dissipate. So the objective
    plus that product of the open contacts is a lower bound, and it is higher where an open contact
    pushes across a gap. The weight is the largest that keeps the objective convex.

    Args:
        s: The problem.
        open_: True for open contacts, shape (n_c,).
        scale: Unit of each variable, shape (n_z,).
        size: Unit of length.
        center: Variables about which it is regularised, scaled, shape (n_z,).

    Returns:
        Whether it is convex, and the objective.
    """
    n, n_r = s.C.shape
    n_z = n + n_r
    F = np.empty((len(s.f), n_z))
    H, g, constant = np.zeros((n_z, n_z)), np.zeros(n_z), 0.0
    for i in range(len(F)):
        for a in range(n):
            F[i, a] = s.F_u[i, a]
        for r in range(n_r):
            F[i, n + r] = s.F_c[i, r]
        constant += 0.5 * s.f[i] * s.f[i]
        for a in range(n_z):
            if F[i, a] != 0.0:
                g[a] += F[i, a] * s.f[i]
                for b in range(n_z):
                    H[a, b] += F[i, a] * F[i, b]
    M, h = np.zeros((n_z, n_z)), np.zeros(n_z)
    for c in range(len(open_)):
        if open_[c]:
            for r in range(s.starts[c], s.starts[c] + (3 if s.mu[c] > 0.0 else 1)):
                h[n + r] = s.d[r]
                for b in range(n):
                    M[n + r, b] += s.C[b, r]
                    M[b, n + r] += s.C[b, r]
                for b in range(n_r):
                    M[n + r, n + b] += s.W[r, b]
                    M[n + b, n + r] += s.W[r, b]
    strongest = 0.0
    for j in range(n_z):
        strongest = max(strongest, H[j, j])
    L = np.zeros((n_z, n_z))
    weight, anchor = 4.0 * strongest, 0.0
    while weight > 1e-12 * strongest and not _convex_with(H, M, weight, anchor, scale, L):
        weight *= 0.25
    if weight > 1e-12 * strongest:
        upper = 4.0 * weight
        for _ in range(4):  # nearer to the largest one
            middle = np.sqrt(weight * upper)
            if _convex_with(H, M, middle, anchor, scale, L):
                weight = middle
            else:
                upper = middle
    else:
        weight = 0.0
        if not _convex_with(H, M, weight, anchor, scale, L):
            anchor = s.anchor  # variables that neither objective nor contacts determine
    convex = _convex_with(H, M, weight, anchor, scale, L)
    gradient = np.empty(n_z)  # over the scaled variables
    for a in range(n_z):
        for b in range(n_z):
            H[a, b] += weight * M[a, b]
        g[a] += weight * h[a]
        gradient[a] = scale[a] * g[a] / size - anchor * center[a]
    optimum = unconstrained_optimum(L, gradient)
    return convex, Convex(H, g, constant, anchor, optimum)


@njit(inner=True)
def _convex_with(
    H: np.ndarray, M: np.ndarray, weight: float, anchor: float, scale: np.ndarray, L: np.ndarray
) -> bool:
    """Return True if the scaled H + weight M is convex by a margin; L becomes its factor."""
    n = len(H)
    S = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            S[i, j] = scale[i] * (H[i, j] + weight * M[i, j]) * scale[j]
        S[i, i] += anchor
    return cholesky(S, L, 1e-8 if anchor == 0.0 else 1e-15)


@njit
def relaxation_limits(
    s: Statement, kind: np.ndarray, scale: np.ndarray, norm: np.ndarray, size: float,
    low: np.ndarray, high: np.ndarray,
) -> None:  # fmt: skip
    """Limits of variables, motions and statement for some decisions, in place.

    Args:
        s: The problem.
        kind: INACTIVE, STICKING, OPEN, TOUCHING or SECTOR, shape (n_c,).
        scale: Unit of each variable, shape (n_z,).
        norm: Norm of the rows of motions and of limits, shape (n_r + m,).
        size: Unit of length.
        low: Output, shape (n_z + n_r + m,) or longer.
        high: Output.
    """
    n, n_r = s.C.shape
    n_z = n + n_r
    for a in range(n):
        unit = scale[a] * size
        low[a], high[a] = s.lower[a] / unit, s.upper[a] / unit
    for c in range(len(kind)):
        r = s.starts[c]
        is_inactive, is_sticking = kind[c] == INACTIVE, kind[c] == STICKING
        for k in range(3 if s.mu[c] > 0.0 else 1):
            i, j = n + r + k, n_z + r + k
            zero = -s.d[r + k] / (norm[r + k] * size)
            low[i] = 0.0 if is_inactive or k == 0 else -np.inf
            high[i] = 0.0 if is_inactive else np.inf
            low[j] = zero if is_sticking or k == 0 else -np.inf
            high[j] = zero if is_sticking or (k == 0 and kind[c] > OPEN) else np.inf
    for i in range(len(s.low)):
        unit = norm[n_r + i] * size
        low[n_z + n_r + i], high[n_z + n_r + i] = s.low[i] / unit, s.high[i] / unit


@njit
def solve_relaxation(
    s: Statement,
    kind: np.ndarray,
    convex: Convex,
    a: ActiveSet,
    scale: np.ndarray,
    size: float,
    center: np.ndarray,
    G: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    rows: int,
    rows_max: int,
    rounds: int,
) -> tuple[int, np.ndarray, float, int]:
    """Optimum of a relaxation, from the final state of another one; cones get planes as needed.

    Args:
        s: The problem.
        kind: Decisions, shape (n_c,).
        convex: The objective.
        a: The start, updated in place.
        scale: Unit of each variable, shape (n_z,).
        size: Unit of length.
        center: Variables about which it is regularised, scaled, shape (n_z,).
        G: Rows, of norm one over the scaled variables, and room for more, shape (most, n_z).
        low: Limits of variables and rows, shape (n_z + most,).
        high: Upper limits of variables and rows, shape (n_z + rows_max,).
        rows: Rows so far.
        rows_max: Maximum number of rows.
        rounds: Maximum number of rounds of new planes.

    Returns:
        The outcome, the variables, shape (n_z,), the bound, the number of rows.
    """
    n, n_z = s.C.shape[0], len(scale)
    v, value = np.zeros(n_z), -np.inf
    for _ in range(rounds):
        outcome = dual_active_set(a, G[:rows], low[: n_z + rows], high[: n_z + rows], 1e-5)
        if outcome != SOLVED:
            return outcome, v, value, rows
        v = a.x * scale * size
        value, distance, Hv = convex.constant, 0.0, times_vector(convex.H, v)
        for j in range(n_z):
            value += 0.5 * v[j] * Hv[j] + convex.g[j] * v[j]
            distance += (a.x[j] - center[j]) ** 2
        value -= (
            10.0 * convex.anchor * distance * size * size
        )  # the regularisation may have raised it
        before = rows
        for c in range(len(kind)):
            if kind[c] == INACTIVE or s.mu[c] == 0.0 or s.sticking or rows >= rows_max:
                continue
            r = n + s.starts[c]
            length = np.hypot(v[r + 1], v[r + 2])
            if length > s.mu[c] * v[r] + 1e-4 * max(s.size, abs(v[r])):
                p, q = v[r + 1] / length, v[r + 2] / length
                _add_plane(G, low, high, rows, scale, r, s.mu[c], p, q)
                rows += 1
        if rows == before:
            break
    return SOLVED, v, value, rows


@njit(inner=True)
def _add_plane(
    G: np.ndarray, low: np.ndarray, high: np.ndarray, row: int, scale: np.ndarray,
    r: int, mu: float, p: float, q: float,
) -> None:  # fmt: skip
    """mu lam_n - (p, q) . lam_t >= 0 as a row; r is the variable of lam_n."""
    a, b, c = mu * scale[r], -p * scale[r + 1], -q * scale[r + 2]
    norm = np.sqrt(a * a + b * b + c * c)
    G[row] = 0.0
    G[row, r], G[row, r + 1], G[row, r + 2] = a / norm, b / norm, c / norm
    low[len(scale) + row], high[len(scale) + row] = 0.0, np.inf
