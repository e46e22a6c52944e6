"""What drives a step: cables and cavities together, in the order in which they are given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sofa_softctl.runtime.behavior.cable import Cable
from sofa_softctl.runtime.behavior.cavity import Cavity
from sofa_softctl.runtime.behavior.solvers import MechanicalSystem
from sofa_softctl.runtime.derivatives.cables import Lines
from sofa_softctl.runtime.derivatives.cavities import Cavities


class Drives:
    """Constraint rows H of cables and cavities, their multipliers lam and displacements delta.

    Of a cable lam is h times its tension and delta = L0 - L; of a cavity lam is h times its
    pressure and delta = V - V0. `measure` sets them at a position.

    Args:
        system: That of the states on which they act.
        constraints: Cables and cavities.

    Raises:
        SceneError: one hangs on a body that turns, or on another system.
    """

    def __init__(self, system: MechanicalSystem, constraints: Sequence[Cable | Cavity]) -> None:
        self.constraints = list(constraints)
        cables = [one for one in self.constraints if isinstance(one, Cable)]
        self.lines = Lines(system, cables)
        self.cavities = Cavities(system, [c for c in self.constraints if isinstance(c, Cavity)])
        is_cable = np.array([isinstance(one, Cable) for one in self.constraints], dtype=bool)
        self._first, self._second = np.flatnonzero(is_cable), np.flatnonzero(~is_cable)
        """Places of cables and of cavities."""
        self.one_sided = np.array(
            [c.only_pulls if isinstance(c, Cable) else c.only_inflates for c in self.constraints],
            dtype=bool,
        )
        """Whether each only pulls, or only inflates; bool, shape (k,)."""

    def __len__(self) -> int:
        """Number of cables and cavities."""
        return len(self.constraints)

    def measure(self, x: np.ndarray) -> None:
        """Take their geometry at x, shape (n, 3)."""
        self.lines.measure(x)
        self.cavities.measure(x)

    @property
    def sizes(self) -> np.ndarray:
        """Length of each cable [length] and volume of each cavity [length^3], shape (k,)."""
        return self._joined(self.lines.lengths, self.cavities.volumes)

    @property
    def displacement(self) -> np.ndarray:
        """Delta of each: L0 - L [length] or V - V0 [length^3], shape (k,)."""
        pulled = self.lines.initial - self.lines.lengths
        return self._joined(pulled, self.cavities.volumes - self.cavities.initial)

    def push(self, lam: np.ndarray) -> np.ndarray:
        """H^T lam, 0 where nodes are held, shape (n, 3)."""
        pulled, blown = self._parts(lam)
        return self.lines.push(pulled) + self.cavities.push(blown)

    def rows(self, v: np.ndarray) -> np.ndarray:
        """H v, shape (k,); v must be 0 where nodes are held."""
        return self._joined(self.lines.rows(v), self.cavities.rows(v))

    def displaced(self, dx: np.ndarray) -> np.ndarray:
        """How delta changes with the positions by dx, shape (k,)."""
        return self._joined(self.lines.rows(dx), self.cavities.grown(dx))

    def displaced_transposed(self, mu: np.ndarray) -> np.ndarray:
        """d(mu . delta)/dx, 0 where nodes are held, shape (n, 3)."""
        pulled, blown = self._parts(mu)
        return self.lines.push(pulled) + self.cavities.grown_transposed(blown)

    def turned(self, lam: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """d(H^T lam) when the positions change by dx, both of shape (n, 3)."""
        pulled, blown = self._parts(lam)
        return self.lines.turned(pulled, dx) + self.cavities.turned(blown, dx)

    def turned_transposed(self, lam: np.ndarray, y: np.ndarray) -> np.ndarray:
        """d(y . H^T lam)/dx, both of shape (n, 3)."""
        pulled, blown = self._parts(lam)
        return self.lines.turned(pulled, y) + self.cavities.turned_transposed(blown, y)

    def rows_turned(self, dx: np.ndarray, w: np.ndarray) -> np.ndarray:
        """dH w when the positions change by dx, both of shape (n, 3); shape (k,)."""
        return self._joined(self.lines.rows_turned(dx, w), self.cavities.rows_turned(dx, w))

    def curve(self, lam: np.ndarray, w: np.ndarray, weight: float) -> None:
        """Prepare `add_curved`; see `Lines.curved`. The weight is that of cables alone."""
        self._blown = self._parts(lam)[1]
        if len(self._first):
            self._blocks = self.lines.curved(self._parts(lam)[0], w, weight)

    def add_curved(self, dx: np.ndarray, out: np.ndarray, *, transposed: bool = False) -> None:
        """out += d(H^T lam + weight d(H^T lam)/dx w) for dx, both of shape (p, n, 3)."""
        if len(self._first):
            self.lines.add_curved(self._blocks, dx, out)  # symmetric
        if len(self._second):
            turn = self.cavities.turned_transposed if transposed else self.cavities.turned
            for one, own in zip(dx, out, strict=True):
                own += turn(self._blown, one)

    def _joined(self, of_lines: np.ndarray, of_cavities: np.ndarray) -> np.ndarray:
        found = np.empty(len(self.constraints))
        found[self._first], found[self._second] = of_lines, of_cavities
        return found

    def _parts(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Entries of cables and of cavities."""
        return values[self._first], values[self._second]
