"""What drives and hinders a step: cables and cavities, in the order given, then contacts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sofa_softctl.runtime.behavior.roles import Cable, Cavity, ContactDetection
from sofa_softctl.runtime.behavior.solvers import MechanicalSystem
from sofa_softctl.runtime.derivatives.cables import Lines
from sofa_softctl.runtime.derivatives.cavities import Cavities
from sofa_softctl.runtime.derivatives.contacts import Contacts
from sofa_softctl.runtime.derivatives.multipliers import Rough


class Curve(NamedTuple):
    """What the directions of a step's rows do to its residual."""

    pulled: np.ndarray
    """Of cables, see `Lines.curved`, shape (s, 3, 3)."""
    blown: np.ndarray
    """Multipliers of cavities."""
    pressed: np.ndarray
    """Multipliers of contacts."""


class Drives:
    """Constraint rows H of cables, cavities and contacts, multipliers lam, displacements delta.

    Of a cable lam is h times its tension and delta = L0 - L; of a cavity lam is h times its
    pressure and delta = V - V0; of a contact lam is h times its force and delta its gap, of which
    0 or more is imposed, and with friction there are rows along two tangents. `measure` sets them
    at a position: k of cables and cavities, and as many rows as the contacts there have.

    Args:
        system: That of the states on which they act.
        constraints: Cables and cavities.
        pipelines: What finds contacts.

    Raises:
        SceneError: one hangs on a body that turns, or on another system.
    """

    def __init__(
        self,
        system: MechanicalSystem,
        constraints: Sequence[Cable | Cavity],
        pipelines: Sequence[ContactDetection] = (),
    ) -> None:
        self.constraints = list(constraints)
        self.contacts = Contacts(system, pipelines)
        cables = [one for one in self.constraints if isinstance(one, Cable)]
        self.lines = Lines(system, cables)
        self.cavities = Cavities(system, [c for c in self.constraints if isinstance(c, Cavity)])
        is_cable = np.array([isinstance(one, Cable) for one in self.constraints], dtype=bool)
        self._first, self._second = np.flatnonzero(is_cable), np.flatnonzero(~is_cable)
        """Places of cables and of cavities."""
        self.limited = np.array(
            [c.only_pulls if isinstance(c, Cable) else c.only_inflates for c in self.constraints],
            dtype=bool,
        )
        """Whether each cable or cavity only pulls, or only inflates; bool, shape (k,)."""

    def __len__(self) -> int:
        """Number k of cables and cavities."""
        return len(self.constraints)

    def measure(self, x: np.ndarray) -> None:
        """Take their geometry at x, shape (n, 3), to which the states of the scene were set."""
        self.lines.measure(x)
        self.cavities.measure(x)
        self.contacts.measure()

    def with_contacts(self, of_drives: np.ndarray, of_contacts: float) -> np.ndarray:
        """Values of cables and cavities, last axis, with one more for each row of contacts."""
        if not len(self.contacts):
            return of_drives
        shape = (*of_drives.shape[:-1], len(self.contacts))
        return np.concatenate([of_drives, np.full(shape, of_contacts, of_drives.dtype)], axis=-1)

    @property
    def one_sided(self) -> np.ndarray:
        """`limited`, and normals of contacts, which only push; bool, shape (k + rows,)."""
        return np.concatenate([self.limited, self.contacts.axis == 0])

    @property
    def moves(self) -> np.ndarray:
        """Whether something moves along each row, of contacts alone; bool, shape (k + rows,)."""
        return np.concatenate([np.ones(len(self), dtype=bool), self.contacts.moves])

    @property
    def rough(self) -> Rough:
        """Contacts with friction that move."""
        contacts = self.contacts
        chosen = (contacts.mu > 0.0) & contacts.moves[contacts.first]
        return Rough(contacts.first[chosen] + len(self), contacts.mu[chosen])

    @property
    def sizes(self) -> np.ndarray:
        """Length of each cable [length] and volume of each cavity [length^3], shape (k,)."""
        return self._joined(self.lines.lengths, self.cavities.volumes, np.empty(0))

    @property
    def displacement(self) -> np.ndarray:
        """Delta: L0 - L [length], V - V0 [length^3] or gap [length], shape (k + rows,)."""
        pulled = self.lines.initial - self.lines.lengths
        blown = self.cavities.volumes - self.cavities.initial
        return self._joined(pulled, blown, self.contacts.gap)

    def push(self, lam: np.ndarray) -> np.ndarray:
        """H^T lam, 0 where nodes are held, shape (n, 3)."""
        pulled, blown, pressed = self._parts(lam)
        driven = self.lines.push(pulled) + self.cavities.push(blown)
        return driven + self.contacts.push(pressed) if len(pressed) else driven

    def rows(self, v: np.ndarray) -> np.ndarray:
        """H v, shape (k + rows,); v must be 0 where nodes are held."""
        return self._joined(self.lines.rows(v), self.cavities.rows(v), self.contacts.rows(v))

    def displaced(self, dx: np.ndarray) -> np.ndarray:
        """How delta changes with the positions by dx, shape (k + rows,)."""
        wider = self.contacts.widened(dx)
        return self._joined(self.lines.rows(dx), self.cavities.grown(dx), wider)

    def displaced_transposed(self, mu: np.ndarray) -> np.ndarray:
        """d(mu . delta)/dx, 0 where nodes are held, shape (n, 3)."""
        pulled, blown, pressed = self._parts(mu)
        driven = self.lines.push(pulled) + self.cavities.grown_transposed(blown)
        return driven + self.contacts.widened_transposed(pressed) if len(pressed) else driven

    def turned(self, lam: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """d(H^T lam) when the positions change by dx, both of shape (n, 3)."""
        pulled, blown, pressed = self._parts(lam)
        turned = self.lines.turned(pulled, dx) + self.cavities.turned(blown, dx)
        return turned + self.contacts.turned(pressed, dx) if len(pressed) else turned

    def turned_transposed(self, lam: np.ndarray, y: np.ndarray) -> np.ndarray:
        """d(y . H^T lam)/dx, both of shape (n, 3)."""
        pulled, blown, pressed = self._parts(lam)
        turned = self.lines.turned(pulled, y) + self.cavities.turned_transposed(blown, y)
        return turned + self.contacts.turned_transposed(pressed, y) if len(pressed) else turned

    def rows_turned(self, dx: np.ndarray, w: np.ndarray) -> np.ndarray:
        """dH w when the positions change by dx, both of shape (n, 3); shape (k + rows,)."""
        parts = (self.lines, self.cavities, self.contacts)
        return self._joined(*(one.rows_turned(dx, w) for one in parts))

    def curve(self, lam: np.ndarray, w: np.ndarray, weight: float) -> Curve:
        """Prepare `add_curved`; see `Lines.curved`. The weight is that of cables alone."""
        pulled, blown, pressed = self._parts(lam)
        return Curve(self.lines.curved(pulled, w, weight), blown, pressed)

    def add_curved(
        self, curve: Curve, dx: np.ndarray, out: np.ndarray, *, transposed: bool = False
    ) -> None:
        """out += d(H^T lam + weight d(H^T lam)/dx w) for dx, both of shape (p, n, 3)."""
        if len(self._first):
            self.lines.add_curved(curve.pulled, dx, out)  # symmetric
        others = ((self.cavities, curve.blown), (self.contacts, curve.pressed))
        for part, lam in others:
            if lam.any():
                turn = part.turned_transposed if transposed else part.turned
                for one, own in zip(dx, out, strict=True):
                    own += turn(lam, one)

    def _joined(
        self, of_lines: np.ndarray, of_cavities: np.ndarray, of_contacts: np.ndarray
    ) -> np.ndarray:
        found = np.empty(len(self.constraints))
        found[self._first], found[self._second] = of_lines, of_cavities
        return np.concatenate([found, of_contacts]) if len(of_contacts) else found

    def _parts(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Entries of cables, of cavities and of contacts."""
        return values[self._first], values[self._second], values[len(self.constraints) :]
