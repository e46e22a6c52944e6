"""Modes next to a relaxation's answer, and the contact that is furthest from its law, compiled."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.qpcc.pieces.kernels import (
    INACTIVE,
    OPEN,
    SECTOR,
    SLIDING,
    STICKING,
    Statement,
    motion,
)

DISSIPATION_WEIGHT = 0.1
"""Weight of the work that an undecided contact may dissipate, which lowers the bound until the
contact is decided, relative to violations of the law [-]."""


@njit
def nearest_modes(
    s: Statement,
    kind: np.ndarray,
    direction: np.ndarray,
    balance: np.ndarray,
    effort: np.ndarray,
    force: np.ndarray,
    sliding: bool,
) -> None:
    """Decide open contacts by efforts and forces, in place. See `neighbours.nearest_modes`."""
    delta, small = motion(s, effort, force), 1e-7 * s.size
    for i in range(len(kind)):
        if kind[i] <= SLIDING:
            continue
        n, undecided = s.starts[i], kind[i]
        if undecided == OPEN and not force[n] > max(delta[n], 0.0) + small:
            kind[i] = INACTIVE
            continue
        kind[i] = STICKING
        if s.sticking or s.mu[i] == 0.0:
            continue
        slip_size = np.hypot(delta[n + 1], delta[n + 2])
        limit = s.mu[i] * max(force[n], 0.0)
        margin = 0.0 if sliding else limit - np.hypot(force[n + 1], force[n + 2])
        if undecided != SECTOR and slip_size <= max(margin, small):
            continue
        # A relaxation's friction need not oppose the motion.
        share = 0.0 if sliding and slip_size > small else 1.0
        p, q = delta[n + 1] - share * force[n + 1], delta[n + 2] - share * force[n + 2]
        length = np.hypot(p, q)
        if length <= small:
            continue
        kind[i], direction[i, 0], direction[i, 1] = SLIDING, p / length, q / length
        total = slip_size + limit
        balance[i, 0] = slip_size / total if total > 0.0 else 0.5
        balance[i, 1] = limit / total if total > 0.0 else 0.5


@njit
def furthest_contact(
    s: Statement, kind: np.ndarray, effort: np.ndarray, force: np.ndarray
) -> tuple[int, np.ndarray]:
    """Undecided contact that is furthest from its law, -1 if all obey it; and delta, (n_r,)."""
    delta = motion(s, effort, force)
    worst, furthest = 0.0, -1
    for i in range(len(kind)):
        if kind[i] >= OPEN:
            error = _distance(s, i, kind[i], force, delta)
            if error > worst * (1.0 + 1e-9):
                worst, furthest = error, i
    return furthest, delta


@njit(inner=True)
def _distance(s: Statement, i: int, kind: int, force: np.ndarray, delta: np.ndarray) -> float:
    """Violation of its law by an undecided contact, in units of energy."""
    n, error = s.starts[i], 0.0
    is_rough = s.mu[i] > 0.0
    if kind == OPEN:
        error = min(max(force[n], 0.0), max(delta[n], 0.0))
        if is_rough and s.sticking:
            pushed = np.sqrt(force[n] ** 2 + force[n + 1] ** 2 + force[n + 2] ** 2)
            moved = np.sqrt(delta[n] ** 2 + delta[n + 1] ** 2 + delta[n + 2] ** 2)
            error = min(pushed, moved)
    if not is_rough or s.sticking:
        return error
    p, q = force[n + 1] - delta[n + 1], force[n + 2] - delta[n + 2]
    length, disc = np.hypot(p, q), s.mu[i] * max(force[n], 0.0)
    if length > disc:
        p, q = p * (disc / length), q * (disc / length)
    error = max(error, np.hypot(force[n + 1] - p, force[n + 2] - q))
    if kind != SECTOR:
        work = -(force[n + 1] * delta[n + 1] + force[n + 2] * delta[n + 2])
        error = max(error, DISSIPATION_WEIGHT * np.sqrt(max(0.0, work)))
    return error
