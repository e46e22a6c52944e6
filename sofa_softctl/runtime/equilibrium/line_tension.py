"""A line under tension as forces on a state, with exact stiffness."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.mechanics import ForceField, Pairs
from sofa_softctl.runtime.behavior.roles import Cable
from sofa_softctl.runtime.kernels.constraint.cable import cable_geometry, segment_stiffness


class LineTension(ForceField):
    """Forces f = -T dL/dx of a cable of a scene, whose tension T is given [force].

    Negative tension pushes. The stiffness is T d2L/dx2: what a tight line does against being moved
    sideways. Not a component of SOFA: it takes a cable's place where equilibria are sought.
    """

    exact_tangent = True

    def __init__(self, cable: Cable, **values: Any) -> None:
        super().__init__(**values)
        self.cable = cable
        self.tension = 0.0

    def init(self) -> None:
        """Make room for the cable's geometry."""
        self.cable.check_differentiable()
        self.points = self.cable.indices.get()
        if len(np.unique(self.points)) != len(self.points):
            raise self.cable.fault("passes a point twice: give each of its 'indices' once.")
        self.directions = np.zeros((len(self.points), 3))
        self.blocks = np.zeros((len(self.points), 3, 3))

    def measure(self) -> float:
        """Length now; `directions` become -dL/dx of its points, shape (m, 3)."""
        x = self.state.position.get()
        return cable_geometry(x, self.points, *self._pull(), self.directions)

    def _pull(self) -> tuple[np.ndarray, bool]:
        return self.cable.pullPoint.get(), self.cable.hasPullPoint.get()

    @override
    def add_force(self, force: np.ndarray) -> None:
        self.measure()
        force[self.points] += self.tension * self.directions

    def add_unit_force(self, force: np.ndarray) -> None:
        """force += df/dT at the position of the last `add_force`."""
        force[self.points] += self.directions

    def pairs(self) -> Pairs:
        """See Contribution: each point with itself, and with the one before it."""
        rows = np.concatenate((self.points, self.points[1:]))
        return rows, np.concatenate((self.points, self.points[:-1]))

    @override
    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        x = self.state.position.get()
        segment_stiffness(x, self.points, *self._pull(), self.blocks)
        blocks = factor * self.tension * self.blocks
        alone = blocks.copy()
        alone[:-1] += blocks[1:]
        slots = np.where(slots < 0, ~slots, slots)  # the blocks are symmetric
        np.add.at(values, slots, np.concatenate((alone, -blocks[1:])))

    @override
    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        x = self.state.position.get()
        segment_stiffness(x, self.points, *self._pull(), self.blocks)
        moved = v[self.points]
        apart = moved.copy()
        apart[1:] -= moved[:-1]
        pulled = np.einsum("kij,kj->ki", factor * self.tension * self.blocks, apart)
        pulled[:-1] -= pulled[1:].copy()
        out[self.points] += pulled
