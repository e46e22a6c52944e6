"""What each contact does: one piece of the contact law."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np


class Mode(Enum):
    """What a contact does. The value is a sentence for people; compare by member."""

    INACTIVE = "The bodies are apart, or touch without force."
    STICKING = "The bodies touch and do not move along each other."
    SLIDING = "The bodies touch and move along each other, against friction."


INACTIVE, STICKING, SLIDING = 0, 1, 2
_MODES = (Mode.INACTIVE, Mode.STICKING, Mode.SLIDING)


class Modes(NamedTuple):
    """What all contacts do; of the sliding ones, where to.

    A sliding contact obeys lam_t + mu lam_n u = 0 and delta_t = s u with s >= 0, where the unit
    vector u turns with the answer. It is linearised about the direction u_0:

        u_0 . lam_t + mu lam_n = 0        a w . lam_t + b w . delta_t = 0        (w normal to u_0)

    with a : b = s : mu lam_n of the point about which it is linearised.
    """

    kind: np.ndarray
    """INACTIVE, STICKING (also: touching without friction) or SLIDING, shape (n_c,) of int."""
    direction: np.ndarray
    """u_0 of the sliding contacts [-], shape (n_c, 2)."""
    balance: np.ndarray
    """a and b of the sliding contacts, a + b = 1 [-], shape (n_c, 2)."""

    @classmethod
    def of(cls, kind: np.ndarray) -> Modes:
        """Modes without sliding contacts."""
        n_c = len(kind)
        return cls(np.array(kind), np.tile([1.0, 0.0], (n_c, 1)), np.tile([0.5, 0.5], (n_c, 1)))

    def key(self) -> bytes:
        """What tells modes apart: kinds, and the eighth of the circle that is slid to."""
        eighth = np.round(np.arctan2(self.direction[:, 1], self.direction[:, 0]) / (np.pi / 4)) % 8
        return np.where(self.kind == SLIDING, 3 + eighth, self.kind).astype(np.int8).tobytes()

    def with_contact(self, contact: int, kind: int, direction: np.ndarray | None = None) -> Modes:
        """These modes but for one contact."""
        kinds, directions, balance = self.kind.copy(), self.direction.copy(), self.balance.copy()
        kinds[contact] = kind
        if direction is not None:
            directions[contact], balance[contact] = direction
        return Modes(kinds, directions, balance)

    def told(self, friction: np.ndarray) -> tuple[Mode, ...]:
        """The modes in words. A contact that touches without friction slides."""
        kind = np.where((self.kind == STICKING) & (friction == 0.0), SLIDING, self.kind)
        return tuple(_MODES[k] for k in kind)
