"""One piece of the problem: the mechanics that given modes of the contacts leave to the efforts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from sofa_softctl.inverse.eliminate import eliminate
from sofa_softctl.inverse.mechanics import Mechanics
from sofa_softctl.inverse.modes import Modes
from sofa_softctl.inverse.piece_kernels import law_rows


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
    n_a = len(m.a_unit)
    D, B = m.W_ac @ X, m.B_c @ X
    D[:, :n_a] += m.W_aa
    B[:, :n_a] += m.B_a
    d = m.W_ac @ x + m.problem.delta_a_free * m.a_unit
    R, offset, kind, of = law_rows(
        m.W_cc,
        m.W_ac,
        m.c_free,
        m.mu,
        m.contacts.starts,
        modes.kind,
        modes.direction,
        X,
        x,
        np.array([cut.contact for cut in cuts], dtype=int),
        np.array([cut.direction for cut in cuts]).reshape(-1, 2),
    )
    law = Rows(R, -offset, np.full(len(offset), np.inf), kind, of)
    if len(tied_to):
        k = len(tied_to)
        ties = Rows(tied, tied_to, tied_to, np.full(k, int(Row.TIED)), np.arange(k))
        law = join(law, ties)
    return Piece(modes, X, x, D, d, B, m.B_c @ x + m.e_free, law)


def join(*parts: Rows) -> Rows:
    """All rows of the parts."""
    return Rows(*(np.concatenate(field) for field in zip(*parts, strict=True)))
