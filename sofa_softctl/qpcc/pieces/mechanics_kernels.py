"""Compiled parts of a step's mechanics: units of energy, the objective's rows, and its limits."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.qpcc.pieces.kernels import distances
from sofa_softctl.qpcc.pieces.small_algebra import multiply, solve_in_place
from sofa_softctl.qpcc.problem.kernels import COMPLIANCE_MIN, EFFECT_RATIO_MIN, energy_matrix
from sofa_softctl.qpcc.problem.modes import INACTIVE, SLIDING, STICKING, Modes

ENERGY_SIZE_RATIO_MIN = 1e-6
"""Least size of the energy term, relative to the motion of effectors by contact forces [-]."""
HELD_COMPLIANCE = 1e-6
"""Compliance of held contacts relative to their own [-]: contacts whose forces are not unique,
as of a rigid body on many points, share them evenly."""
PIVOT_MIN = 1e-14
"""Pivots and eigenvalues of the energy term below this share of the largest are rounding [-]."""
REMAINDER_MAX = 1e-10
"""Remainder of a pivoted Cholesky factorisation above which eigenvalues are looked at [-]."""
NEGATIVE_MAX = 1e-9
"""Negative eigenvalue of the energy term that counts as rounding, relative to the largest [-]."""


@njit
def in_units_of_energy(
    W_ea: np.ndarray,
    W_aa: np.ndarray,
    delta_e: np.ndarray,
    weight: np.ndarray,
    in_energy: np.ndarray,
    energy: float,
    W_ec: np.ndarray,
    W_ac: np.ndarray,
    W_cc: np.ndarray,
    delta_c: np.ndarray,
    friction: np.ndarray,
    has_contact_energy: bool,
    effort: np.ndarray,
) -> tuple:
    """Return the arrays of `Mechanics` from `a_unit` to `indefinite`, in their order.

    Args:
        W_ea, W_aa, delta_e, weight: As in `InverseProblem`, in the free motion.
        in_energy: True for actuators in the energy term, shape (n_a,).
        energy: Weight of the energy term [-].
        W_ec, W_ac, W_cc, delta_c, friction: As in `Contacts`, in the free motion.
        has_contact_energy: Whether the energy term covers the contact forces.
        effort: A typical effort on the contacts [effort], shape (n_a,), for scale.
    """
    (n_e, n_a), n_r = W_ea.shape, len(delta_c)
    a_unit, c_unit = np.empty(n_a), np.empty(n_r)
    mu, starts, r = np.zeros(len(friction)), np.empty(len(friction), np.int64), 0
    for i in range(n_a):
        a_unit[i] = _unit(W_aa[i, i])
    for c in range(len(friction)):
        starts[c] = r
        c_unit[r] = _unit(W_cc[r, r])
        r += 1
        if friction[c] > 0.0:
            c_unit[r] = c_unit[r + 1] = _unit(0.5 * (W_cc[r, r] + W_cc[r + 1, r + 1]))
            mu[c] = friction[c] * c_unit[r - 1] / c_unit[r]
            r += 2
    A, C, W, d = np.empty((n_a, n_a)), np.empty((n_a, n_r)), np.empty((n_r, n_r)), delta_c * c_unit
    for i in range(n_a):
        for j in range(n_a):
            A[i, j] = a_unit[i] * W_aa[i, j] * a_unit[j]
        for j in range(n_r):
            C[i, j] = a_unit[i] * W_ac[i, j] * c_unit[j]
    for i in range(n_r):
        for j in range(n_r):
            W[i, j] = 0.5 * c_unit[i] * (W_cc[i, j] + W_cc[j, i]) * c_unit[j]
    size = 0.0
    for j in range(n_r):
        loaded = d[j]
        for i in range(n_a):
            loaded += effort[i] / a_unit[i] * C[i, j]
        size = max(size, abs(d[j]), abs(loaded))
    B_a, B_c = np.empty((n_e, n_a)), np.empty((n_e, n_r))
    for k in range(n_e):
        for i in range(n_a):
            B_a[k, i] = weight[k] * W_ea[k, i]
        for j in range(n_r):
            B_c[k, j] = weight[k] * W_ec[k, j] * c_unit[j]
    G, indefinite = np.empty((0, n_a)), 0.0
    if energy > 0.0 and has_contact_energy:
        unit, all_W = np.concatenate((a_unit, c_unit)), np.empty((n_a + n_r, n_a + n_r))
        all_W[:n_a, :n_a], all_W[:n_a, n_a:] = W_aa, W_ac
        all_W[n_a:, :n_a], all_W[n_a:, n_a:] = W_ac.T, W_cc
        counts = np.concatenate((in_energy, np.ones(n_r, np.bool_)))
        B = np.concatenate((B_a, B_c / c_unit), axis=1)
        G, indefinite = _energy_rows(all_W, counts, _gram(B), energy, unit)
    elif energy > 0.0:
        Q = _energy_size(B_a, B_c, W, W_ac, c_unit, W_aa)
        G, indefinite = _energy_rows(W_aa, in_energy, Q, energy, a_unit)
    F_u, F_c = np.zeros((n_e + len(G), n_a)), np.zeros((n_e + len(G), n_r))
    f, strongest, effect = np.zeros(n_e + len(G)), 0.0, np.zeros(n_a)
    for i in range(n_a):
        for k in range(n_e):
            effect[i] += (B_a[k, i] * a_unit[i]) ** 2
        strongest = max(strongest, effect[i])
    for k in range(n_e):
        f[k] = weight[k] * delta_e[k]
        F_c[k] = B_c[k]
        for i in range(n_a):
            if effect[i] > EFFECT_RATIO_MIN**2 * strongest:  # else it is rounding
                F_u[k, i] = B_a[k, i] * a_unit[i]
    F_u[n_e:] = G[:, :n_a]
    if G.shape[1] > n_a:
        F_c[n_e:] = G[:, n_a:]
    size = size if size > 0.0 else 1.0
    return a_unit, c_unit, F_u, F_c, f, A, C, W, d, mu, starts, size, indefinite


@njit(inner=True)
def _unit(compliance: float) -> float:
    return 1.0 / np.sqrt(compliance) if compliance > 0.0 else 1.0


@njit(inner=True)
def _gram(B: np.ndarray) -> np.ndarray:
    return multiply(np.ascontiguousarray(B.T), B)


@njit(inner=True)
def _norm(Q: np.ndarray) -> float:
    """Largest sum of a row's absolute entries."""
    largest = 0.0
    for i in range(len(Q)):
        largest = max(largest, np.abs(Q[i]).sum())
    return largest


@njit(inner=True, separate=True)
def _energy_size(
    free: np.ndarray,
    B_c: np.ndarray,
    W: np.ndarray,
    W_ac: np.ndarray,
    c_unit: np.ndarray,
    W_aa: np.ndarray,
) -> np.ndarray:
    """Hessian of the tracking term over actuators that scales their energy term, (n_a, n_a).

    It is that of actuators acting freely, as without contacts, or with all contacts held, whichever
    is larger. A robot that moves its effectors only through contacts, such as one that rolls or a
    hand that holds an object, hardly moves them when free: that size depends on the mesh and varies
    by decades over steps. If the actuators move them in neither case, as before they reach an
    object, a small remainder keeps idle efforts at zero.
    """
    n_a, n_r = W_ac.shape
    E, held_forces = W.copy(), np.empty((n_r, n_a))
    for j in range(n_r):
        E[j, j] += HELD_COMPLIANCE
        for i in range(n_a):
            held_forces[j, i] = W_ac[i, j] * c_unit[j]
    Q = _gram(free)
    if solve_in_place(E, held_forces) > 0.0:
        held = _gram(free - multiply(B_c, held_forces))
        Q = held if _norm(held) > _norm(Q) else Q
    smallest = ENERGY_SIZE_RATIO_MIN * _norm(_gram(B_c)) * _norm(W_aa)
    return smallest * np.eye(n_a) if smallest > _norm(Q) else Q


@njit(inner=True, separate=True)
def _energy_rows(
    W: np.ndarray, counts: np.ndarray, Q: np.ndarray, energy: float, unit: np.ndarray
) -> tuple[np.ndarray, float]:
    """Rows G such that G^T G is the energy term's Hessian in units of energy, shape (k, n).

    Its negative eigenvalues are removed. Arguments as of `energy_matrix`, and units (n,).

    Returns:
        The rows; the least eigenvalue that was removed, relative to the largest, 0 for rounding.
    """
    n = len(unit)
    E, norm = energy_matrix(W, counts, Q, energy)
    if norm <= COMPLIANCE_MIN:
        return np.empty((0, n)), 0.0
    largest = 0.0
    for i in range(n):
        for j in range(n):
            E[i, j] = unit[i] * E[i, j] * unit[j]
        largest = max(largest, E[i, i])
    S, G, k = E.copy(), np.zeros((n, n)), 0
    while k < n:  # Cholesky factorisation with pivots
        pivot = 0
        for i in range(n):
            pivot = i if S[i, i] > S[pivot, pivot] else pivot
        if not S[pivot, pivot] > PIVOT_MIN * largest:
            break
        G[k] = S[pivot] / np.sqrt(S[pivot, pivot])
        for i in range(n):
            for j in range(n):
                S[i, j] -= G[k, i] * G[k, j]
        k += 1
    if np.abs(S).max() <= REMAINDER_MAX * largest:
        return G[:k], 0.0
    values, vectors = np.linalg.eigh(E)
    k = 0
    for l in range(n):
        if values[l] > PIVOT_MIN * values[-1]:
            G[k] = np.sqrt(values[l]) * vectors[:, l]
            k += 1
    is_negative = values[0] < -NEGATIVE_MAX * values[-1]
    return G[:k], -values[0] / max(values[-1], 1e-300) if is_negative else 0.0


@njit
def limit_rows(
    ranges: np.ndarray,
    sums: np.ndarray,
    least: np.ndarray,
    greatest: np.ndarray,
    a_unit: np.ndarray,
    W_aa: np.ndarray,
    W_ac: np.ndarray,
    delta_a: np.ndarray,
) -> tuple:
    """Return whether limits leave efforts, and lower, upper, A_u, A_c, low, high of `Statement`.

    Args:
        ranges: Ranges of effort and displacement, see `limit_ranges`, shape (4, n_a).
        sums: Rows of bounded sums of normal forces, in units of energy, shape (k, n_r).
        least, greatest: Their bounds, shape (k,).
        a_unit, W_aa, W_ac: As in `Mechanics`.
        delta_a: Free displacement of each actuator [displacement], shape (n_a,).
    """
    n_a, k = len(a_unit), len(sums)
    limited = np.flatnonzero((ranges[2] > -np.inf) | (ranges[3] < np.inf))
    m = len(limited)
    A_u, A_c = np.zeros((m + k, n_a)), np.empty((m + k, W_ac.shape[1]))
    low, high = np.empty(m + k), np.empty(m + k)
    lower, upper = ranges[0] / a_unit, ranges[1] / a_unit
    for l in range(m):
        i = limited[l]
        A_u[l], A_c[l] = W_aa[i], W_ac[i]
        low[l] = (ranges[2, i] - delta_a[i]) * a_unit[i]
        high[l] = (ranges[3, i] - delta_a[i]) * a_unit[i]
    A_c[m:], low[m:], high[m:] = sums, least, greatest
    is_possible = not ((lower > upper).any() or (low > high).any())
    return is_possible, lower, upper, A_u, A_c, low, high


@njit(inner=True)
def _inactive(n_c: int) -> Modes:
    """Modes of inactive contacts."""
    direction = np.zeros((n_c, 2))
    direction[:, 0] = 1.0
    return Modes(np.zeros(n_c, np.int64), direction, np.full((n_c, 2), 0.5), np.zeros((n_c, 2)))


@njit
def modes_of(
    force: np.ndarray,
    delta: np.ndarray,
    mu: np.ndarray,
    starts: np.ndarray,
    sticking: bool,
    size: float,
) -> Modes:
    """Return the modes of contacts with these forces and motions, see `mechanics.modes_at`."""
    n_c = len(starts)
    kind, direction, balance, _ = modes = _inactive(n_c)
    for c in range(n_c):
        n = starts[c]
        kind[c] = STICKING if force[n] > max(delta[n], 0.0) else INACTIVE
        if sticking or mu[c] == 0.0 or kind[c] == INACTIVE:
            continue
        limit, slip = mu[c] * force[n], np.hypot(delta[n + 1], delta[n + 2])
        if slip > max(limit - np.hypot(force[n + 1], force[n + 2]), 1e-7 * size):
            kind[c], direction[c] = SLIDING, delta[n + 1 : n + 3] / slip
            balance[c, 0], balance[c, 1] = slip / (slip + limit), limit / (slip + limit)
    return modes


@njit
def residuals_of(
    force: np.ndarray,
    delta: np.ndarray,
    mu: np.ndarray,
    starts: np.ndarray,
    sticking: bool,
    size: float,
) -> tuple[float, float, float]:
    """Return law error, complementarity and cone violation, see `InverseSolution` [-]."""
    law = complementarity = cone = 0.0
    error = distances(force, delta, mu, starts, sticking)
    for c in range(len(starts)):
        n = starts[c]
        if error[c] > law or np.isnan(error[c]):
            law = error[c]
        complementarity = max(complementarity, abs(force[n] * delta[n]))
        if mu[c] > 0.0 and not sticking:
            cone = max(cone, np.hypot(force[n + 1], force[n + 2]) - mu[c] * force[n])
    return law / size, complementarity / size**2, cone / size


@njit
def recall_contacts(
    number: np.ndarray,
    modes: Modes,
    force: np.ndarray,
    widths: np.ndarray,
    c_unit: np.ndarray,
    mu: np.ndarray,
) -> tuple[Modes, np.ndarray, bool, bool]:
    """Return modes and forces [sqrt(energy)] of contacts in the last step.

    Args:
        number: Number of each contact in the last step, -1 for a new one, shape (n_c,).
        modes: Modes of the last step.
        force: Contact forces of the last step [effort].
        widths: Number of rows of each contact then; with another number now, it is new.
        c_unit, mu: As in `Mechanics`, for this step.

    Returns:
        Modes and forces, where new contacts are inactive; whether any contact is known; whether all
        are.
    """
    n_c, first, r = len(number), np.cumsum(widths) - widths, 0
    kind, direction, balance, _ = recalled = _inactive(n_c)
    forces, known = np.zeros(len(c_unit)), 0
    for c in range(n_c):
        k, width = number[c], 3 if mu[c] > 0.0 else 1
        if k >= 0 and widths[k] == width:
            kind[c], direction[c], balance[c] = modes.kind[k], modes.direction[k], modes.balance[k]
            for j in range(width):
                forces[r + j] = force[first[k] + j] / c_unit[r + j]
            known += 1
        r += width
    return recalled, forces, known > 0, known == n_c
