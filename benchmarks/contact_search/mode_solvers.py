"""Bounds and local optima for partly fixed contact modes."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.contact_search.interior_point import (
    FAILED,
    INFEASIBLE,
    SOLVED,
    interior_point,
)
from tests.support.mode_rows import (
    INACTIVE,
    SLIDING,
    EnumerationProblem,
    add_curvature,
    assemble,
    turning,
)

NOT_CUT = np.empty((0, 2))
RADIUS = 0.6
"""Most that a direction of slip turns in a step [rad]."""
MULTIPLIER = 1e3
"""Largest multiplier of a curved condition that is believed [-]."""


def relax(
    st: EnumerationProblem,
    kind: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    cuts: np.ndarray,
    cutoff: float,
) -> tuple[int, float, np.ndarray]:
    """The convex relaxation of what is known of the contacts.

    Args:
        st: The problem.
        kind: What is known of each contact, shape (n_c,).
        low: Least angle of slip of the sliding contacts [rad], shape (n_c,).
        high: Greatest angle of slip, shape (n_c,).
        cuts: More planes around cones: contact, angle of the outward normal, shape (n, 2).
        cutoff: Minima above this are of no interest.

    Returns:
        How it ended, a lower bound of the objective, and x, shape (n,).
    """
    x = np.zeros(len(st.g))
    flag, G, h, A, b = assemble(st, kind, low, high, cuts)
    cols = _columns(st, kind)
    A, G = np.ascontiguousarray(A[:, cols]), np.ascontiguousarray(G[:, cols])
    norm = np.sqrt((A * A).sum(axis=1))
    empty = norm < 1e-12
    if flag < 0 or (np.abs(b[empty]) > 1e-9).any():
        return INFEASIBLE, math.inf, x
    norm[empty] = 1.0
    b = np.where(empty, 0.0, b / norm)
    part, y, z = np.zeros(len(cols)), np.zeros(len(b)), np.zeros(len(h))
    H = np.ascontiguousarray(st.H[np.ix_(cols, cols)])
    status, bound = interior_point(
        H, st.g[cols], A / norm[:, None], b, np.zeros(len(b)), G, h, part, y, z, cutoff
    )
    x[cols] = part
    return status, bound, x


def _columns(st: EnumerationProblem, kind: np.ndarray) -> np.ndarray:
    """Columns of x that may differ from zero: not the forces of inactive contacts."""
    used = np.ones(len(st.g), dtype=bool)
    for i in np.flatnonzero(kind == INACTIVE):
        j = st.first + st.starts[i]
        used[j : j + (3 if st.rough[i] else 1)] = False
    return np.flatnonzero(used)


def descend(
    st: EnumerationProblem,
    kind: np.ndarray,
    angle: np.ndarray,
    x: np.ndarray,
    cutoff: float = math.inf,
    steps: int = 30,
) -> tuple[int, float]:
    """The nearest local optimum of given modes, by sequential quadratic programs.

    The curved conditions of `turning` are imposed up to their multipliers' change times a small
    number that goes to zero with their error, so that they need not be independent, nor their
    linearisations consistent.

    Args:
        st: The problem.
        kind: INACTIVE, STICKING or SLIDING, shape (n_c,).
        angle: Direction of slip of the sliding contacts [rad], shape (n_c,). Start and output.
        x: Start and output, shape (n,).
        cutoff: Objective above which a nearly converged answer is given up.
        steps: Most quadratic programs.

    Returns:
        SOLVED, INFEASIBLE or FAILED, and the objective.

    Source: the stabilisation is the one of Wright 1998, "Superlinear convergence of a stabilized
        SQP method to a degenerate solution".
    """
    every = np.full(len(kind), 2.0 * math.pi)
    flag, G_fixed, h_fixed, A_fixed, b_fixed = assemble(st, kind, 0.0 * every, every, NOT_CUT)
    if flag < 0:
        return INFEASIBLE, math.inf
    cols, sliding = _columns(st, kind), np.flatnonzero(kind == SLIDING)
    place = np.full(len(st.g), -1)
    place[cols] = np.arange(len(cols))
    x[place < 0] = 0.0
    n, k, s, m = len(cols), len(b_fixed), len(sliding), len(h_fixed)
    N = n + s
    turn = np.concatenate((np.zeros((s, n)), np.eye(s)), axis=1)
    A_flat = np.concatenate((A_fixed[:, cols], np.zeros((k, s))), axis=1)
    G_flat = np.concatenate((G_fixed[:, cols], np.zeros((m, s))), axis=1)
    base = np.zeros((N, N))
    base[:n, :n] = st.H[np.ix_(cols, cols)]
    y, z = np.zeros(k + 3 * s), np.zeros(m)
    radius, weight = RADIUS, 1.0
    A, c, G, h = turning(st, kind, cols, place, x, angle)
    for step in range(steps):
        error = float(np.abs(c).max(initial=0.0))
        old = np.clip(y[k:], -MULTIPLIER, MULTIPLIER)
        H = base + A.T @ A
        if step:
            add_curvature(st, kind, cols, place, x, angle, old, z[m : m + len(h)], H)
        g = A.T @ c
        g[:n] += (st.H @ x + st.g)[cols]
        sigma = min(1e-4, max(1e-9, error))
        soft = np.concatenate((np.zeros(k), np.full(3 * s, sigma)))
        rows = np.concatenate((G_flat, G, turn, -turn))
        high = np.concatenate((h_fixed - G_fixed @ x, h, np.full(2 * s, radius)))
        d, y, z = np.zeros(N), np.zeros(k + 3 * s), np.zeros(len(high))
        equal = np.concatenate((b_fixed - A_fixed @ x, -c - sigma * old))
        status, _ = interior_point(
            _lifted(H), g, np.concatenate((A_flat, A)), equal, soft, rows, high, d, y, z, 1e6
        )
        if status != SOLVED:
            return status, math.inf
        weight = max(weight, min(2.0 * float(np.abs(y[k:]).max(initial=0.0)), MULTIPLIER))
        start, aim, before, share = x.copy(), angle.copy(), _merit(st, x, c, h, weight), 1.0
        while True:
            x[cols], angle[sliding] = start[cols] + share * d[:n], aim[sliding] + share * d[n:]
            A, c, G, h = turning(st, kind, cols, place, x, angle)
            good = step == 0 or _merit(st, x, c, h, weight) <= before + 1e-12
            if good or share < 0.03:
                break
            share *= 0.4
        radius = min(RADIUS, 2.0 * radius) if share == 1.0 else max(0.3 * radius, 1e-3)
        moved, error = float(np.abs(d).max()), float(np.abs(c).max(initial=0.0))
        if (moved < 1e-7 and error < 1e-9) or (moved < 1e-5 and error < 1e-11):
            break
        value = float(0.5 * (x @ (st.H @ x)) + st.g @ x)
        hopeless = step >= 12 and error > 1e-2 * 0.5 ** (step - 12)
        if hopeless or (step >= 4 and error < 1e-3 and value > cutoff):
            return FAILED, math.inf
    value = float(0.5 * (x @ (st.H @ x)) + st.g @ x)
    return (SOLVED, value) if error < 1e-9 else (FAILED, math.inf)


def _merit(
    st: EnumerationProblem, x: np.ndarray, c: np.ndarray, h: np.ndarray, weight: float
) -> float:
    """Objective and broken curved conditions."""
    broken = np.abs(c).sum() + np.maximum(-h, 0.0).sum()
    return float(0.5 * (x @ (st.H @ x)) + st.g @ x + weight * broken)


def _lifted(H: np.ndarray) -> np.ndarray:
    """The matrix, with eigenvalues below zero of the other sign."""
    try:
        np.linalg.cholesky(H + 1e-9 * np.eye(len(H)))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(H)
        H = (vectors * np.maximum(np.abs(values), 1e-9)) @ vectors.T
    return H
