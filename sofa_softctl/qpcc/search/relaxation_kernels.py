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

ANCHOR = 1e-6
"""Regularisation of variables that the objective leaves free, relative to the scaled diagonal."""
PLANES_MAX = 24
"""Maximum number of cone planes a contact. Fewer make bounds lower, not wrong."""
PLANE_ROUNDS_MAX = 8
"""Maximum rounds of cone planes in a relaxation. Fewer make its bound lower, not wrong."""
SECTOR_ROWS = 5
"""Rows of a contact that slides in a sector."""


class Relaxations(NamedTuple):
    """Matrices and planes around cones that the relaxations of one statement share.

    Variables and rows are scaled. All contacts have lam_n >= 0, delta_n >= 0 and, by Coulomb's law,
    a force in the friction cone; decisions add limits. Tangent planes of a cone are added where an
    answer leaves it.
    """

    statement: Statement
    """The problem."""
    scale: np.ndarray
    """Unit of each variable, shape (n_z,)."""
    size: float
    """Unit of length."""
    center: np.ndarray
    """Variables about which it is regularised, scaled, shape (n_z,)."""
    norm: np.ndarray
    """Norm of the rows of motions and of limits, shape (n_r + m,)."""
    G: np.ndarray
    """Rows, of norm one over the scaled variables, and room for more, shape (most, n_z)."""
    low: np.ndarray
    """Limits of variables and rows, shape (n_z + most,)."""
    high: np.ndarray
    """Upper limits of variables and rows, shape (n_z + most,)."""
    sector_low: np.ndarray
    """Limits of rows that only relaxations with their sector obey, shape (most,)."""
    counts: np.ndarray
    """Number of rows, of planes among them, and of solved relaxations so far, shape (3,)."""


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
def create_relaxations(s: Statement, before: np.ndarray, room: int) -> Relaxations:
    """Relaxations of a statement, none of which is solved.

    Args:
        s: The problem.
        before: Efforts about which free ones are regularised, shape (n,).
        room: Number of further rows there is room for.
    """
    (n, n_r), m = s.C.shape, len(s.low)
    n_z, k = n + n_r, n_r + m
    scale, strongest, square = np.zeros(n_z), 0.0, 0.0
    for i in range(len(s.f)):
        square += s.f[i] * s.f[i]
        for j in range(n_z):
            scale[j] += (s.F_u[i, j] if j < n else s.F_c[i, j - n]) ** 2
    for j in range(n_z):
        strongest = max(strongest, scale[j])
    strongest = strongest if strongest > 0.0 else 1.0
    for j in range(n_z):
        scale[j] = 1.0 / np.sqrt(max(scale[j], 1e-6 * strongest))
    size = max(np.sqrt(square / strongest), s.size) * np.sqrt(strongest)
    center, G = np.zeros(n_z), np.zeros((k + room, n_z))
    center[:n] = before / (scale[:n] * size)
    G[:n_r, :n], G[:n_r, n:], G[n_r:k, :n], G[n_r:k, n:] = s.C.T, s.W, s.A_u, s.A_c
    norm, largest = np.zeros(k), 0.0
    for i in range(k):
        for j in range(n_z):
            G[i, j] *= scale[j]
            norm[i] += G[i, j] * G[i, j]
        norm[i] = np.sqrt(norm[i])
        largest = max(largest, norm[i])
    for i in range(k):
        if norm[i] <= 1e-12 * largest:
            norm[i] = largest if largest > 0.0 else 1.0
        for j in range(n_z):
            G[i, j] /= norm[i]
    low, high = np.full(n_z + len(G), -np.inf), np.full(n_z + len(G), np.inf)
    counts = np.array([k, 0, 0])
    return Relaxations(s, scale, size, center, norm, G, low, high, np.zeros(len(G)), counts)


@njit
def relaxed_objective(r: Relaxations, open_: np.ndarray) -> tuple[bool, Convex]:
    """The objective of a relaxation, with the work of open contacts.

    lam . delta <= 0 on every contact that obeys its law: contacts only dissipate. So the objective
    plus that product of the open contacts is a lower bound, and it is higher where an open contact
    pushes across a gap. The weight is the largest that keeps the objective convex.

    Args:
        r: The relaxations.
        open_: True for open contacts, shape (n_c,).

    Returns:
        Whether it is convex, and the objective.
    """
    s, scale, size, center = r.statement, r.scale, r.size, r.center
    n, n_r = s.C.shape
    n_z = n + n_r
    F = np.empty((len(s.f), n_z))
    H, g, constant = np.zeros((n_z, n_z)), np.zeros(n_z), 0.0
    for i in range(len(F)):
        for a in range(n):
            F[i, a] = s.F_u[i, a]
        for j in range(n_r):
            F[i, n + j] = s.F_c[i, j]
        constant += 0.5 * s.f[i] * s.f[i]
        for a in range(n_z):
            if F[i, a] != 0.0:
                g[a] += F[i, a] * s.f[i]
                for b in range(n_z):
                    H[a, b] += F[i, a] * F[i, b]
    M, h = np.zeros((n_z, n_z)), np.zeros(n_z)
    for c in range(len(open_)):
        if open_[c]:
            for j in range(s.starts[c], s.starts[c] + (3 if s.mu[c] > 0.0 else 1)):
                h[n + j] = s.d[j]
                for b in range(n):
                    M[n + j, b] += s.C[b, j]
                    M[b, n + j] += s.C[b, j]
                for b in range(n_r):
                    M[n + j, n + b] += s.W[j, b]
                    M[n + b, n + j] += s.W[j, b]
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
            anchor = ANCHOR  # variables that neither objective nor contacts determine
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


class RelaxationSolution(NamedTuple):
    """Answer of a relaxation, in units of energy."""

    outcome: int
    """SOLVED, INFEASIBLE or FAILED."""
    bound: float
    """Objective of the relaxation: no solution with these decisions has a lower one."""
    effort: np.ndarray
    """Shape (n,)."""
    force: np.ndarray
    """Contact forces, shape (n_r,). Undecided contacts may push across a gap."""
    state: ActiveSet
    """Final state of the QP solver."""


@njit
def solve_relaxation(
    r: Relaxations, convex: Convex, kind: np.ndarray, sectors: np.ndarray, start: ActiveSet
) -> RelaxationSolution:
    """Optimum of a relaxation, from the final state of another one; cones get planes as needed.

    Args:
        r: The relaxations.
        convex: The objective.
        kind: INACTIVE, STICKING, OPEN, TOUCHING or SECTOR of each contact, shape (n_c,).
        sectors: First rows of the sectors that it obeys, shape (k,).
        start: State of a relaxation with fewer decisions and the same objective.
    """
    s, scale, size, low, high = r.statement, r.scale, r.size, r.low, r.high
    n, n_z = s.C.shape[0], len(scale)
    r.counts[2] += 1
    _set_limits(r, kind)
    for first in sectors:
        for row in range(first, first + SECTOR_ROWS):
            low[n_z + row] = r.sector_low[row]
    a = ActiveSet(
        start.x.copy(), start.J.copy(), start.R.copy(), start.active.copy(), start.side.copy(),
        start.dual.copy(), start.number.copy(),
    )  # fmt: skip
    v, bound, outcome = np.zeros(n_z), -np.inf, SOLVED
    for _ in range(PLANE_ROUNDS_MAX):
        rows = r.counts[0]
        outcome = dual_active_set(a, r.G[:rows], low[: n_z + rows], high[: n_z + rows], 1e-5)
        if outcome != SOLVED:
            break
        v = a.x * scale * size
        bound, distance, Hv = convex.constant, 0.0, times_vector(convex.H, v)
        for j in range(n_z):
            bound += 0.5 * v[j] * Hv[j] + convex.g[j] * v[j]
            distance += (a.x[j] - r.center[j]) ** 2
        bound -= 10.0 * convex.anchor * distance * size * size  # which may have raised it
        for c in range(len(kind)):
            if kind[c] == INACTIVE or s.mu[c] == 0.0 or s.sticking:
                continue
            if r.counts[1] >= PLANES_MAX * len(kind):
                break
            i = n + s.starts[c]
            length = np.hypot(v[i + 1], v[i + 2])
            if length > s.mu[c] * v[i] + 1e-4 * max(s.size, abs(v[i])):
                _add_plane(r, i, s.mu[c], v[i + 1] / length, v[i + 2] / length)
        if r.counts[0] == rows:
            break
    for first in sectors:
        low[n_z + first : n_z + first + SECTOR_ROWS] = -np.inf
    return RelaxationSolution(outcome, bound, v[:n].copy(), v[n:].copy(), a)


@njit(inner=True, separate=True)
def _set_limits(r: Relaxations, kind: np.ndarray) -> None:
    """Limits of variables, motions and statement for some decisions, in place."""
    s, low, high = r.statement, r.low, r.high
    n, n_r = s.C.shape
    n_z = n + n_r
    for a in range(n):
        unit = r.scale[a] * r.size
        low[a], high[a] = s.lower[a] / unit, s.upper[a] / unit
    for c in range(len(kind)):
        first = s.starts[c]
        is_inactive, is_sticking = kind[c] == INACTIVE, kind[c] == STICKING
        for k in range(3 if s.mu[c] > 0.0 else 1):
            i, j = n + first + k, n_z + first + k
            zero = -s.d[first + k] / (r.norm[first + k] * r.size)
            low[i] = 0.0 if is_inactive or k == 0 else -np.inf
            high[i] = 0.0 if is_inactive else np.inf
            low[j] = zero if is_sticking or k == 0 else -np.inf
            high[j] = zero if is_sticking or (k == 0 and kind[c] > OPEN) else np.inf
    for i in range(len(s.low)):
        unit = r.norm[n_r + i] * r.size
        low[n_z + n_r + i], high[n_z + n_r + i] = s.low[i] / unit, s.high[i] / unit


@njit(inner=True, separate=True)
def add_sector(r: Relaxations, i: int, first: float, last: float) -> int:
    """Add the rows of a contact that slides between two angles; return the first one's number.

    Its motion is in that sector, and its force opposite, between the arc of the friction disc and
    its chord.
    """
    s = r.statement
    n, t = s.C.shape[0], s.starts[i]
    start = r.counts[0]
    middle, half_angle = 0.5 * (first + last), 0.5 * (last - first)
    for angle, sign in ((first, 1.0), (last, -1.0)):
        row = np.empty(len(r.scale))
        p, q = -sign * np.sin(angle), sign * np.cos(angle)
        for a in range(n):
            row[a] = p * s.C[a, t + 1] + q * s.C[a, t + 2]
        for j in range(len(s.d)):
            row[n + j] = p * s.W[t + 1, j] + q * s.W[t + 2, j]
        _add_row(r, row, -(p * s.d[t + 1] + q * s.d[t + 2]))
        _add_row(r, _plane(r, n + t, s.mu[i], np.cos(angle), np.sin(angle)), 0.0)
    chord_mu = s.mu[i] * np.cos(half_angle)
    _add_row(r, -_plane(r, n + t, chord_mu, np.cos(middle), np.sin(middle)), 0.0)
    return start


@njit(inner=True)
def _plane(r: Relaxations, variable: int, mu: float, p: float, q: float) -> np.ndarray:
    """mu lam_n + (p, q) . lam_t as a row; `variable` is that of lam_n."""
    row = np.zeros(len(r.scale))
    row[variable], row[variable + 1], row[variable + 2] = mu, p, q
    return row


@njit(inner=True)
def _add_row(r: Relaxations, row: np.ndarray, low: float) -> None:
    """Add a row of which `sector_low` is the limit, but no relaxation obeys it yet."""
    scaled, square, k = row * r.scale, 0.0, r.counts[0]
    for j in range(len(row)):
        square += scaled[j] * scaled[j]
    norm = np.sqrt(square) if square > 0.0 else 1.0
    r.G[k] = scaled / norm
    r.low[len(row) + k], r.high[len(row) + k] = -np.inf, np.inf
    r.sector_low[k] = low / (norm * r.size)
    r.counts[0] += 1


@njit(inner=True)
def _add_plane(r: Relaxations, variable: int, mu: float, p: float, q: float) -> None:
    """mu lam_n - (p, q) . lam_t >= 0 of all relaxations; `variable` is that of lam_n."""
    k = r.counts[0]
    _add_row(r, _plane(r, variable, mu, -p, -q), 0.0)
    r.low[len(r.scale) + k] = 0.0
    r.counts[1] += 1
