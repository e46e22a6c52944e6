"""One piece of the problem: the mechanics that given modes of the contacts leave to the efforts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from sofa_softctl.inverse.eliminate import eliminate
from sofa_softctl.inverse.mechanics import Mechanics
from sofa_softctl.inverse.modes import INACTIVE, SLIDING, STICKING, Modes


class Row(IntEnum):
    """What a row of a piece says, and of what."""

    GAP = 0
    """An inactive contact does not interpenetrate."""
    FORCE = 1
    """A touching contact does not pull."""
    SLIP = 2
    """A sliding contact slides forward."""
    CONE = 3
    """The force of a sticking contact is on the inner side of a plane that touches its cone."""
    TIED = 4
    """Contacts that depend on each other do not contradict each other."""
    DISPLACEMENT = 5
    """The displacement of an actuator is within its limits."""
    SUM = 6
    """A sum of normal forces is within its bounds."""


class Cut(NamedTuple):
    """A plane that touches a friction cone: direction . lam_t <= mu lam_n."""

    contact: int
    """Number of the contact."""
    direction: np.ndarray
    """Unit vector, shape (2,)."""


class Rows(NamedTuple):
    """Conditions low <= R v <= high on the variables, in units of energy."""

    R: np.ndarray
    """Shape (m, n_v)."""
    low: np.ndarray
    """Shape (m,)."""
    high: np.ndarray
    """Shape (m,)."""
    kind: np.ndarray
    """What each row says, a `Row`, shape (m,) of int."""
    of: np.ndarray
    """Number of the contact, actuator or sum that it says it of, shape (m,) of int."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Everything over the variables v: the efforts, and what `eliminate` adds to them.

    All in units of energy, see `Mechanics`.
    """

    modes: Modes
    """The modes of the contacts."""
    X: np.ndarray
    """Contact forces, lam_c = X v + x, shape (n_r, n_v)."""
    x: np.ndarray
    """Shape (n_r,)."""
    D: np.ndarray
    """Displacement of the actuators, delta_a = D v + d, shape (n_a, n_v)."""
    d: np.ndarray
    """Shape (n_a,)."""
    B: np.ndarray
    """Weighted effectors, B v + e, shape (n_e, n_v)."""
    e: np.ndarray
    """Shape (n_e,)."""
    law: Rows
    """What the modes ask for."""


def build_piece(mechanics: Mechanics, modes: Modes, cuts: Sequence[Cut] = ()) -> Piece | None:
    """The piece of given modes.

    Args:
        mechanics: The mechanics.
        modes: What the contacts do.
        cuts: Planes that touch friction cones; those of sticking contacts count.

    Returns:
        The piece, or None if no effort can bring about these modes.
    """
    m = mechanics
    eliminated = eliminate(m, modes)
    if eliminated is None:
        return None
    X, x, tied, tied_to = eliminated
    n_a, n_v = len(m.a_unit), X.shape[1]
    D, B = m.W_ac @ X, m.B_c @ X
    D[:, :n_a] += m.W_aa
    B[:, :n_a] += m.B_a
    d = m.W_ac @ x + m.problem.delta_a_free * m.a_unit
    law = _join(
        _gaps(m, modes, X, x),
        _forces(m, modes, X, x),
        _slips(m, modes, X, x),
        _cones(m, modes, X, x, cuts),
        Rows(tied, tied_to, tied_to, *_labels(Row.TIED, np.arange(len(tied_to)))),
        n_v=n_v,
    )
    return Piece(modes, X, x, D, d, B, m.B_c @ x + m.e_free, law)


def _labels(kind: Row, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.full(len(index), int(kind)), index


def _motion(m: Mechanics, T: np.ndarray, X: np.ndarray, x: np.ndarray) -> tuple:
    """T delta_c over the variables, for a matrix T (k, n_r) or the numbers of k rows."""
    if T.ndim == 1:
        W_cc, W_ca, free = m.W_cc[T], m.W_ac.T[T], m.c_free[T]
    else:
        W_cc, W_ca, free = T @ m.W_cc, T @ m.W_ac.T, T @ m.c_free
    R = W_cc @ X
    R[:, : W_ca.shape[1]] += W_ca
    return R, W_cc @ x + free


def _above_zero(R: np.ndarray, offset: np.ndarray, kind: Row, index: np.ndarray) -> Rows:
    """R v + offset >= 0."""
    return Rows(R, -offset, np.full(len(offset), np.inf), *_labels(kind, index))


def _gaps(m: Mechanics, modes: Modes, X: np.ndarray, x: np.ndarray) -> Rows:
    inactive = np.flatnonzero(modes.kind == INACTIVE)
    R, offset = _motion(m, m.contacts.starts[inactive], X, x)
    return _above_zero(R, offset, Row.GAP, inactive)


def _forces(m: Mechanics, modes: Modes, X: np.ndarray, x: np.ndarray) -> Rows:
    touching = np.flatnonzero(modes.kind != INACTIVE)
    normal = m.contacts.starts[touching]
    return _above_zero(X[normal], x[normal], Row.FORCE, touching)


def _slips(m: Mechanics, modes: Modes, X: np.ndarray, x: np.ndarray) -> Rows | None:
    sliding = np.flatnonzero(modes.kind == SLIDING)
    if not len(sliding):
        return None
    T, k = np.zeros((len(sliding), len(x))), np.arange(len(sliding))
    T[k, m.contacts.starts[sliding] + 1] = modes.direction[sliding, 0]
    T[k, m.contacts.starts[sliding] + 2] = modes.direction[sliding, 1]
    R, offset = _motion(m, T, X, x)
    return _above_zero(R, offset, Row.SLIP, sliding)


def _cones(
    m: Mechanics, modes: Modes, X: np.ndarray, x: np.ndarray, cuts: Sequence[Cut]
) -> Rows | None:
    kept = [cut for cut in cuts if modes.kind[cut.contact] == STICKING]
    if not kept:
        return None
    contact = np.array([cut.contact for cut in kept])
    c = np.array([cut.direction for cut in kept])
    n, mu = m.contacts.starts[contact], m.mu[contact]
    R = mu[:, None] * X[n] - c[:, :1] * X[n + 1] - c[:, 1:] * X[n + 2]
    return _above_zero(R, mu * x[n] - c[:, 0] * x[n + 1] - c[:, 1] * x[n + 2], Row.CONE, contact)


def _join(*parts: Rows | None, n_v: int) -> Rows:
    kept = [part for part in parts if part is not None and len(part.low)]
    if not kept:
        empty = np.empty(0)
        return Rows(np.empty((0, n_v)), empty, empty, empty.astype(int), empty.astype(int))
    return Rows(*(np.concatenate(field) for field in zip(*kept, strict=True)))
