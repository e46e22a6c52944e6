"""Neighbouring pieces: changes of one contact's mode, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.qpcc.pieces.kernels import (
    CONE,
    FORCE,
    INACTIVE,
    OPEN,
    SECTOR,
    SLIDING,
    SLIP,
    STICKING,
    Statement,
    motion,
    touching_rows,
)
from sofa_softctl.qpcc.pieces.sequence import PieceSolution
from sofa_softctl.qpcc.pieces.small_algebra import solve_in_place
from sofa_softctl.qpcc.problem.modes import Modes

HASH_FACTOR = 1099511628211
"""Odd factor of a key's digits, modulo 2^64: the prime of the hash FNV-1."""


@njit(inner=True)
def copy_modes(modes: Modes) -> Modes:
    """Modes that may be changed."""
    return Modes(
        modes.kind.copy(), modes.direction.copy(), modes.balance.copy(), modes.sector.copy()
    )


@njit(inner=True)
def with_kind(modes: Modes, contact: int, kind: int) -> Modes:
    """Modes with one contact changed."""
    changed = copy_modes(modes)
    changed.kind[contact] = kind
    return changed


@njit(inner=True)
def with_sliding(
    modes: Modes, contact: int, p: float, q: float, slip_share: float, friction_share: float
) -> Modes:
    """Modes with one contact that slides along (p, q), see `Modes.balance`."""
    changed = with_kind(modes, contact, SLIDING)
    changed.direction[contact, 0], changed.direction[contact, 1] = p, q
    changed.balance[contact, 0], changed.balance[contact, 1] = slip_share, friction_share
    return changed


@njit(inner=True, separate=True)
def order_of(values: np.ndarray) -> np.ndarray:
    """Indices by rising value; values that agree to six digits in the order of their indices."""
    n, size = len(values), 0.0
    for i in range(n):
        size = max(size, abs(values[i]))
    unit = 1e6 / size if size > 0.0 else 1.0
    order, rounded = np.empty(n, np.int64), np.empty(n)
    for i in range(n):
        value = np.rint(values[i] * unit)
        j = i
        while j > 0 and rounded[j - 1] > value:
            rounded[j], order[j] = rounded[j - 1], order[j - 1]
            j -= 1
        rounded[j], order[j] = value, i
    return order


@njit(inner=True, separate=True)
def across_border(
    s: Statement, answer: PieceSolution, border: int, i: int, delta: np.ndarray
) -> Modes:
    """Return the modes on the other side of a border; of a gap if `border` is GAP or -1."""
    modes, force, n = answer.modes, answer.force, s.starts[i]
    if border == FORCE:
        return with_kind(modes, i, INACTIVE)
    if border == SLIP:
        return with_kind(modes, i, STICKING)
    if border == CONE:
        size = np.hypot(force[n + 1], force[n + 2])
        if size > 0.0:
            return with_sliding(modes, i, -force[n + 1] / size, -force[n + 2] / size, 0.0, 1.0)
        return with_sliding(modes, i, 1.0, 0.0, 0.0, 1.0)  # at the cone's tip
    if not s.sticking and s.mu[i] > 0.0:
        length = np.hypot(delta[n + 1], delta[n + 2])
        if length > 1e-6 * s.size:
            return with_sliding(modes, i, delta[n + 1] / length, delta[n + 2] / length, 1.0, 0.0)
    return with_kind(modes, i, STICKING)


@njit(inner=True, separate=True)
def slip_gradient(s: Statement, answer: PieceSolution) -> np.ndarray:
    """Gain of the objective by slip of a contact, forces following.

    Returns:
        Derivative of the objective by delta, shape (n_r,), 0 for inactive contacts.
    """
    rows, _, k = touching_rows(s, answer.modes.kind)
    E, F = np.empty((k, k)), np.zeros((k, 1))
    for i in range(k):
        for j in range(k):
            E[i, j] = s.W[rows[i], rows[j]]
        E[i, i] += 1e-9  # contacts may depend on each other
    for l in range(len(s.f)):
        residual = s.f[l]
        for a in range(len(answer.effort)):
            residual += s.F_u[l, a] * answer.effort[a]
        for r in range(len(s.d)):
            residual += s.F_c[l, r] * answer.force[r]
        for i in range(k):
            F[i, 0] += s.F_c[l, rows[i]] * residual
    gradient = np.zeros(len(s.d))
    if solve_in_place(E, F) > 0.0:
        for i in range(k):
            gradient[rows[i]] = F[i, 0]
    return gradient


@njit(separate=True)
def nearest_modes(
    s: Statement, modes: Modes, effort: np.ndarray, force: np.ndarray, sliding: bool
) -> Modes:
    """Return the decided modes nearest to efforts and forces, as of a relaxation.

    Args:
        s: The problem.
        modes: Modes so far; decided ones are kept.
        effort: Shape (n,).
        force: Shape (n_r,).
        sliding: Whether every touching contact that moves along the surface slides. Otherwise one
            sticks that moves by less than its force is inside the cone.
    """
    kind, direction, balance, _ = decided = copy_modes(modes)
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
    return decided


class ModeKeys(NamedTuple):
    """Keys of the modes that were tried."""

    keys: np.ndarray
    """Shape (most,) of int64."""
    number: np.ndarray
    """Number of keys so far, shape (1,)."""


@njit(inner=True, separate=True)
def key_of(modes: Modes) -> int:
    """Key of decided modes: kinds, and octants of the sliding directions.

    The octants begin at odd angles, as motion along an axis is common.
    """
    key = 1
    for i in range(len(modes.kind)):
        digit = modes.kind[i]
        if digit == SLIDING:
            angle = np.arctan2(modes.direction[i, 1], modes.direction[i, 0])
            digit = 8 + int(np.floor((angle + 0.3) / (np.pi / 4.0))) % 8
        key = key * HASH_FACTOR + digit
    return key


@njit(inner=True)
def is_tried(tried: ModeKeys, key: int) -> bool:
    """Return True if modes with this key were tried."""
    for k in range(tried.number[0]):
        if tried.keys[k] == key:
            return True
    return False


@njit(inner=True)
def add_tried(tried: ModeKeys, key: int) -> None:
    """Add a key unless there is no room."""
    if tried.number[0] < len(tried.keys):
        tried.keys[tried.number[0]] = key
        tried.number[0] += 1
