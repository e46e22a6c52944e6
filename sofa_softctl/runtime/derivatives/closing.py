"""What the free motion slides before a gap closes, which friction does not see.

With w_f the free motion's velocity, kappa the share of the step before a contact closes, and h its
length, rows along tangents have c = h H_t w - kappa h H_t w_f, as in SOFA. Where the gap closes in
the step, kappa = -gap / (h H_n w_f).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sofa_softctl.runtime.derivatives.contacts import Contacts
from sofa_softctl.runtime.kernels.contact.share import share_in_contact


class Closing(NamedTuple):
    """The part of c that the free motion makes, e = -kappa h H_t w_f, with its derivatives."""

    free: np.ndarray
    """w_f, shape (n, 3)."""
    normal: np.ndarray
    """Row along the normal of each row's contact, shape (k,)."""
    drift: np.ndarray
    """e of each row, 0 along normals [length], shape (k,)."""
    by_gap: np.ndarray
    """de by the gap, shape (k,)."""
    by_normal: np.ndarray
    """de by H_n w_f [time], shape (k,)."""
    by_own: np.ndarray
    """de by the row's own H_t w_f [time], shape (k,)."""

    @property
    def matters(self) -> bool:
        """Whether e depends on anything."""
        return bool(self.by_own.any())

    def forward(self, gap: np.ndarray, of_free: np.ndarray) -> np.ndarray:
        """de for changes of gaps and of H w_f, all of shape (k,)."""
        changed = self.by_gap * gap[self.normal] + self.by_normal * of_free[self.normal]
        found: np.ndarray = changed + self.by_own * of_free
        return found

    def backward(self, mu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of mu . e by gaps and by H w_f, both of shape (k,)."""
        by_gap, by_free = np.zeros_like(mu), self.by_own * mu
        np.add.at(by_gap, self.normal, self.by_gap * mu)
        np.add.at(by_free, self.normal, self.by_normal * mu)
        return by_gap, by_free


def closing_of(contacts: Contacts, free: np.ndarray, h: float) -> Closing:
    """That of contacts at the position of `measure`.

    Args:
        contacts: The contacts.
        free: w_f, shape (n, 3).
        h: Length of the step.
    """
    normal, along = contacts.first[contacts.contact], contacts.rows(free)
    gap, closes = contacts.gap[contacts.first], along[contacts.first]
    share = share_in_contact(gap, gap + h * closes, h * contacts.travelled(free))
    kappa = np.where(contacts.axis > 0, 1.0 - share[contacts.contact], 0.0)
    crosses = (kappa > 0.0) & (kappa < 1.0)
    ratio = np.divide(along, along[normal], where=crosses, out=np.zeros_like(along))
    slope = np.divide(contacts.gap[normal], along[normal], where=crosses, out=np.zeros_like(along))
    return Closing(free, normal, -kappa * h * along, ratio, -slope * ratio, -kappa * h)
