"""Constraint rows of a step: cables and cavities, in the order given, then contacts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sofa_softctl.runtime.behavior.roles import Cable, Cavity, ContactDetection
from sofa_softctl.runtime.behavior.solvers import MechanicalSystem
from sofa_softctl.runtime.derivatives.cables import CableSegments
from sofa_softctl.runtime.derivatives.cavities import Cavities
from sofa_softctl.runtime.derivatives.contacts import Contacts
from sofa_softctl.runtime.derivatives.multipliers import FrictionContacts


class RowStiffness(NamedTuple):
    """Stiffness from the changing directions of a step's rows."""

    cable_blocks: np.ndarray
    """Blocks of cables, see `CableSegments.geometric_blocks`, shape (s, 3, 3)."""
    cavity_multipliers: np.ndarray
    contact_multipliers: np.ndarray


class StepConstraints:
    """Constraint rows H of cables, cavities and contacts, multipliers lam, displacements delta.

    Cables: lam is h times the tension, delta = L0 - L; cavities: lam is h times the pressure,
    delta = V - V0; contacts: lam is h times the force, delta >= 0 the gap, and with friction two
    rows along tangents. `measure` sets them at a position: k rows of cables and cavities, and the
    rows of the contacts at the position.

    Args:
        system: System of the states on which they act.
        constraints: Cables and cavities.
        pipelines: Contact detections.

    Raises:
        SceneError: One acts on a body that rotates, or on another system.
    """

    def __init__(
        self,
        system: MechanicalSystem,
        constraints: Sequence[Cable | Cavity],
        pipelines: Sequence[ContactDetection] = (),
    ) -> None:
        self.constraints = list(constraints)
        self.contacts = Contacts(system, pipelines)
        self.cables = CableSegments(system, [c for c in self.constraints if isinstance(c, Cable)])
        self.cavities = Cavities(system, [c for c in self.constraints if isinstance(c, Cavity)])
        is_cable = np.array([isinstance(c, Cable) for c in self.constraints], dtype=bool)
        self._cable_rows, self._cavity_rows = np.flatnonzero(is_cable), np.flatnonzero(~is_cable)
        """Indices of cables and of cavities."""
        self.limited = np.array(
            [c.only_pulls if isinstance(c, Cable) else c.only_inflates for c in self.constraints],
            dtype=bool,
        )
        """True for cables that only pull and cavities that only inflate, shape (k,)."""

    def __len__(self) -> int:
        """Number k of cables and cavities."""
        return len(self.constraints)

    def measure(self, x: np.ndarray) -> None:
        """Compute their geometry at x, shape (n, 3), the positions of the scene's states."""
        self.cables.measure(x)
        self.cavities.measure(x)
        self.contacts.measure()

    def with_contacts(self, values: np.ndarray, contact_value: float) -> np.ndarray:
        """Append a value for each row of contacts to values of cables and cavities (last axis)."""
        if not len(self.contacts):
            return values
        shape = (*values.shape[:-1], len(self.contacts))
        return np.concatenate([values, np.full(shape, contact_value, values.dtype)], axis=-1)

    @property
    def one_sided(self) -> np.ndarray:
        """`limited`, and True for normals of contacts, which only push, shape (k + rows,)."""
        return np.concatenate([self.limited, self.contacts.axis == 0])

    @property
    def moves(self) -> np.ndarray:
        """False for rows of contacts along which nothing moves, shape (k + rows,)."""
        return np.concatenate([np.ones(len(self), dtype=bool), self.contacts.moves])

    @property
    def friction(self) -> FrictionContacts:
        """Contacts with friction that move."""
        contacts = self.contacts
        is_rough = (contacts.mu > 0.0) & contacts.moves[contacts.first]
        return FrictionContacts(contacts.first[is_rough] + len(self), contacts.mu[is_rough])

    @property
    def sizes(self) -> np.ndarray:
        """Length of each cable [length] and volume of each cavity [length^3], shape (k,)."""
        return self._merge(self.cables.lengths, self.cavities.volumes, np.empty(0))

    @property
    def displacement(self) -> np.ndarray:
        """Delta: L0 - L [length], V - V0 [length^3] or gap [length], shape (k + rows,)."""
        shortening = self.cables.initial - self.cables.lengths
        growth = self.cavities.volumes - self.cavities.initial
        return self._merge(shortening, growth, self.contacts.gap)

    def push(self, lam: np.ndarray) -> np.ndarray:
        """Return H^T lam, 0 at fixed nodes, shape (n, 3)."""
        cable_lam, cavity_lam, contact_lam = self._parts(lam)
        force = self.cables.push(cable_lam) + self.cavities.push(cavity_lam)
        return force + self.contacts.push(contact_lam) if len(contact_lam) else force

    def rows(self, v: np.ndarray) -> np.ndarray:
        """Return H v, shape (k + rows,); v must be 0 at fixed nodes."""
        return self._merge(self.cables.rows(v), self.cavities.rows(v), self.contacts.rows(v))

    def displacement_change(self, dx: np.ndarray) -> np.ndarray:
        """Return the change of delta for changes dx of positions, shape (k + rows,)."""
        growth, gap_change = self.cavities.volume_change(dx), self.contacts.gap_change(dx)
        return self._merge(self.cables.rows(dx), growth, gap_change)

    def displacement_change_transposed(self, mu: np.ndarray) -> np.ndarray:
        """Return d(mu . delta)/dx, 0 at fixed nodes, shape (n, 3)."""
        cable_mu, cavity_mu, contact_mu = self._parts(mu)
        total = self.cables.push(cable_mu) + self.cavities.volume_change_transposed(cavity_mu)
        return total + self.contacts.gap_change_transposed(contact_mu) if len(contact_mu) else total

    def push_change(self, lam: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """Return d(H^T lam) for changes dx of positions, shapes (n, 3)."""
        cable, cavity, contact = self._parts(lam)
        change = self.cables.push_change(cable, dx) + self.cavities.push_change(cavity, dx)
        return change + self.contacts.push_change(contact, dx) if len(contact) else change

    def push_change_transposed(self, lam: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return d(y . H^T lam)/dx, shapes (n, 3)."""
        cable, cavity, contact = self._parts(lam)
        change = self.cables.push_change(cable, y) + self.cavities.push_change_transposed(cavity, y)
        return change + self.contacts.push_change_transposed(contact, y) if len(contact) else change

    def rows_change(self, dx: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return dH w for changes dx of positions, shapes (n, 3) and (k + rows,)."""
        parts = (self.cables, self.cavities, self.contacts)
        return self._merge(*(part.rows_change(dx, w) for part in parts))

    def row_stiffness(self, lam: np.ndarray, w: np.ndarray, weight: float) -> RowStiffness:
        """Return the stiffness of the rows; `weight` counts for cables only (CableSegments)."""
        cable, cavity, contact = self._parts(lam)
        return RowStiffness(self.cables.geometric_blocks(cable, w, weight), cavity, contact)

    def add_row_stiffness(
        self, stiffness: RowStiffness, dx: np.ndarray, out: np.ndarray, *, transposed: bool = False
    ) -> None:
        """Add d(H^T lam + weight d(H^T lam)/dx w) for dx to out, shapes (p, n, 3)."""
        if len(self._cable_rows):
            self.cables.add_blocks(stiffness.cable_blocks, dx, out)  # symmetric
        cavity_lam, contact_lam = stiffness.cavity_multipliers, stiffness.contact_multipliers
        for part, lam in ((self.cavities, cavity_lam), (self.contacts, contact_lam)):
            if lam.any():
                product = part.push_change_transposed if transposed else part.push_change
                for direction, change in zip(dx, out, strict=True):
                    change += product(lam, direction)

    def _merge(self, cables: np.ndarray, cavities: np.ndarray, contacts: np.ndarray) -> np.ndarray:
        values = np.empty(len(self.constraints))
        values[self._cable_rows], values[self._cavity_rows] = cables, cavities
        return np.concatenate([values, contacts]) if len(contacts) else values

    def _parts(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Split values into values of cables, of cavities and of contacts."""
        return values[self._cable_rows], values[self._cavity_rows], values[len(self.constraints) :]
