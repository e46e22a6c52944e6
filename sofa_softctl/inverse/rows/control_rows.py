"""Actuators and effectors of a step as rows of the inverse problem, and back."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import Sofa

from sofa_softctl.inverse.rows.actuators import Actuators
from sofa_softctl.scene.control.system import ComplianceSystem

PARALLEL_MIN = 0.999
"""Cosine of the angle between two actuators' effects, in energy, above which they are the same."""
EFFECT_RATIO_MIN = 1e-9
"""Effect of an actuator relative to the strongest one, below which it has none [-]."""


class ControlRows:
    """Rows of a controller's actuators and effectors in the scene's constraint system.

    Args:
        root: Root of the scene, initialised.
        driven: The actuators.
        effectors: The three PositionConstraints of each effector.
    """

    def __init__(self, root: Any, driven: Actuators, effectors: Sequence[Sequence[Any]]) -> None:
        self._root, self._driven = root, driven
        self.system = ComplianceSystem(root)
        self.factor = np.array([self.system.effort_factor(c) for c in driven.components])
        """Multiplier of one unit of effort of each actuator, shape (n_a,)."""
        self.a_part, self.e_part = slice(0, driven.count), slice(driven.count, None)
        """Slices of the actuators' and of the effectors' rows."""
        self.states = [rows[0].getContext().getMechanicalState() for rows in effectors]
        """State of each effector."""
        self._nodes = [int(rows[0].indices.value[0]) for rows in effectors]
        self._position = [state.findData("position") for state in self.states]
        self._free = [state.findData("free_position") for state in self.states]
        self._compared = False
        self._owned = self.system.rows_of([*driven.components, *itertools.chain(*effectors)])

    def row_indices(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of actuators and effectors in this step, and all other rows."""
        for component in self._driven.newly_set(self._root.time.value / self._root.dt.value):
            Sofa.msg_warning(
                component,
                f"'value' of {component.getPathName()} was set, but the InverseController that "
                "drives it computes its effort: what is set has no effect. Leave it out of "
                "'actuators', or do not set it.",
            )
        return self._owned.row_indices()

    def tip(self) -> np.ndarray:
        """Position of each effector [length], shape (n_e, 3)."""
        return self._positions_of(self._position)

    def mechanics(
        self, rows: np.ndarray, other_rows: np.ndarray, target: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Return compliance and free motion of this step, by the names of InverseProblem.

        Args:
            rows: Rows of actuators and effectors.
            other_rows: Rows of constraints whose forces are taken as the forward solver finds them.
            target: Position of each effector at the end of the step [length], shape (n_e, 3).
        """
        W = self.system.compliance(rows, rows[self.a_part], self.factor)
        if not self._compared:
            self._compared = True
            self._warn_of_pairs(W[self.a_part])
        delta_free = self.system.delta_free(rows)
        # Trap: SOFA's effector rows count from the node's position at init(), not from where the
        # scene starts it; their dfree carries that offset. Take the free positions instead.
        delta_free[self.e_part] = (self._positions_of(self._free) - target).ravel()
        if len(other_rows):
            delta_free = delta_free + self.system.delta_by_others(rows, other_rows)
        return {
            "W_ea": W[self.e_part],
            "W_aa": W[self.a_part],
            "delta_e_free": delta_free[self.e_part],
            "delta_a_free": delta_free[self.a_part],
        }

    def _warn_of_pairs(self, W: np.ndarray) -> None:
        """Warn of actuators without an effect, or with the same one, by W, shape (n_a, n_a)."""
        size = np.sqrt(np.maximum(W.diagonal(), 0.0))
        is_lasting = ~self._driven.is_change  # a modulus has no effect until there are stresses
        acts = is_lasting & (size > 0.0)
        for i in np.flatnonzero((size <= EFFECT_RATIO_MIN * size.max(initial=0.0)) & is_lasting):
            Sofa.msg_warning(
                self._driven.components[i],
                f"{self._driven.names[i]} moves nothing: all that it acts on is fixed. Does it lie "
                "in the clamp?",
            )
        is_parallel = np.triu(
            W > PARALLEL_MIN * np.outer(size, size), 1
        )  # antagonists are opposite
        for i, j in np.argwhere(is_parallel & np.outer(acts, acts)):
            Sofa.msg_warning(
                self._driven.components[j],
                f"{self._driven.names[j]} and {self._driven.names[i]} do the same to the "
                f"whole robot (their effects are parallel to {PARALLEL_MIN:g}): only the energy "
                "term chooses between them. Leave one out, or correct where one of them acts.",
            )

    def owners(self, rows: np.ndarray) -> list[str]:
        """Path and class of each component that owns one of these rows."""
        return [
            f"{owner.getPathName()} ({owner.getClassName()})"
            for owner, owned in self.system.owners()
            if np.isin(owned, rows).any()
        ]

    def apply(self, rows: np.ndarray, effort: np.ndarray) -> None:
        """Set the efforts that the correction of this step applies, shape (n_a,)."""
        self.system.set_effort(rows[self.a_part], effort, self.factor)

    def _positions_of(self, positions: Sequence[Any]) -> np.ndarray:
        return np.array([data.value[k] for data, k in zip(positions, self._nodes, strict=True)])
