"""SlidingActuator."""

from __future__ import annotations

import math

import numpy as np

from sofa_softctl.runtime.behavior.constraint import InverseRole
from sofa_softctl.runtime.components.softrobots_inverse.directed import DirectedActuator
from sofa_softctl.runtime.core.data.types import Bool, Real


class SlidingActuator(DirectedActuator):
    """Moves nodes together along a direction: one row, whose lambda is their total force.

    delta is the mean way of the nodes from their rest positions along the direction, positive that
    way. Both halves of a body's direction are made of length one: a screw adds way and angle.

    Source: SoftRobots.Inverse's SlidingActuator, which looks at the first node's way only.
    """

    inverse_role = InverseRole.ACTUATOR

    maxPositiveDisp = Real(0.0, "Greatest way along the direction.", unit="length")
    maxNegativeDisp = Real(0.0, "Greatest way against the direction.", unit="length")
    maxDispVariation = Real(0.0, "Greatest change of the displacement a step.", unit="length")
    initDisplacement = Real(0.0, "Displacement before the first step.", unit="length")
    accumulateDisp = Bool(False, "Add up the displacements of all steps.")
    force = Real(0.0, "lambda of the last step.", unit="lambda of force", read_only=True)
    displacement = Real(0.0, "Displacement in the last step.", unit="length", read_only=True)
    showDirection = Bool(False, "Draw the direction.")
    showVisuScale = Real(0.001, "Size of what is drawn.")

    row_count = 1

    def init(self) -> None:
        """Find nodes and direction."""
        self.nodes, given = self.find_nodes(), self.find_direction()
        if not given.any():
            given = np.eye(len(given))[0]
        halves = given.reshape(-1, 3)
        lengths = np.linalg.norm(halves, axis=1, keepdims=True)
        self.unit = (halves / np.where(lengths == 0.0, 1.0, lengths)).ravel()
        self.direction.set(self.unit.copy())
        count = len(self.nodes)
        shares = np.tile(self.unit / count, (count, 1))
        row = np.zeros(count, dtype=np.int64)
        self._entries = self.state.kind.entries(row, self.nodes, shares)
        self.force.set(self.initForce.get())
        self.displacement.set(self.initDisplacement.get())

    def build(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See LagrangianConstraint."""
        return self._entries

    def violation(self) -> np.ndarray:
        """See LagrangianConstraint."""
        state, kind = self.state._data, self.state.kind
        x, free, rest = (
            state[name].get()[self.nodes] for name in ("position", "free_position", "rest_position")
        )
        ways = kind.difference(free, x) + kind.difference(x, rest)
        return np.array([ways.mean(axis=0) @ self.unit])

    def limits(self) -> dict[str, float]:
        """Bounds of this step, by the names of InverseProblem."""
        low = -self.limit("maxNegativeDisp", math.inf)
        high = self.limit("maxPositiveDisp", math.inf)
        previous = self.displacement.get()
        if self.accumulateDisp.get():  # delta is then this step's part
            low, high = low - min(previous, 0.0), high - max(previous, 0.0)
            previous = 0.0
        return {
            "effort_min": self.limit("minForce", -math.inf),
            "effort_max": self.limit("maxForce", math.inf),
            "displacement_min": low,
            "displacement_max": high,
            "displacement_previous": previous,
            "displacement_rate": self.limit("maxDispVariation", math.inf),
        }

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Take over lambda and what it made of the displacement."""
        self.force.set(float(lam[0]))
        before = self.displacement.get() if self.accumulateDisp.get() else 0.0
        self.displacement.set(before + float(delta[0]))
