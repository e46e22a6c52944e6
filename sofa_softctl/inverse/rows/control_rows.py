"""Actuators and effectors of a step as rows of the inverse problem, and back."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import Sofa

from sofa_softctl.inverse.rows.actuators import Actuators
from sofa_softctl.scene.control.system import ComplianceSystem

ALIKE_MIN = 0.999
"""Cosine of the angle between the effects of two actuators, by energy, above which they are one."""
NO_EFFECT = 1e-9
"""Effect of an actuator, by that of the strongest, below which it has none [-]."""


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
        self.factor = np.array([self.system.effort_factor(each) for each in driven.components])
        """Multiplier of one unit of effort of each actuator, shape (n_a,)."""
        self.a, self.e = slice(0, driven.count), slice(driven.count, None)
        """The actuators' part of the rows, and the effectors'."""
        self.states = [rows[0].getContext().getMechanicalState() for rows in effectors]
        """State of each effector."""
        self._nodes = [int(rows[0].indices.value[0]) for rows in effectors]
        self._position = [state.findData("position") for state in self.states]
        self._free = [state.findData("free_position") for state in self.states]
        self._compared = False
        self._owned = self.system.rows_of([*driven.components, *itertools.chain(*effectors)])

    def now(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows of actuators and effectors in this step, and all other rows."""
        for component in self._driven.newly_set(self._root.time.value / self._root.dt.value):
            Sofa.msg_warning(
                component,
                f"'value' of {component.getPathName()} was set, but the InverseController that "
                "drives it computes its effort: what is set has no effect. Leave it out of "
                "'actuators', or do not set it.",
            )
        return self._owned.now()

    def tip(self) -> np.ndarray:
        """Position of each effector [length], shape (n_e, 3)."""
        return self._at(self._position)

    def mechanics(
        self, rows: np.ndarray, others: np.ndarray, target: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Compliance and free motion of this step, by the names of InverseProblem.

        Args:
            rows: Rows of actuators and effectors.
            others: Rows of constraints whose forces are taken as the forward solver finds them.
            target: Where each effector shall be [length], shape (n_e, 3).
        """
        W = self.system.compliance(rows, rows[self.a], self.factor)
        if not self._compared:
            self._compared = True
            self._warn_of_pairs(W[self.a])
        delta_free = self.system.delta_free(rows)
        # Effector rows measure from where their node was when SOFA initialised it, which need not
        # be where it starts.
        delta_free[self.e] = (self._at(self._free) - target).ravel()
        if len(others):
            delta_free = delta_free + self.system.delta_by_others(rows, others)
        return {
            "W_ea": W[self.e],
            "W_aa": W[self.a],
            "delta_e_free": delta_free[self.e],
            "delta_a_free": delta_free[self.a],
        }

    def _warn_of_pairs(self, W: np.ndarray) -> None:
        """Warn of actuators without an effect, or with the same one, by W, shape (n_a, n_a)."""
        size = np.sqrt(np.maximum(W.diagonal(), 0.0))
        lasts = ~self._driven.changes  # a modulus has no effect until there are stresses
        for i in np.flatnonzero((size <= NO_EFFECT * size.max(initial=0.0)) & lasts):
            Sofa.msg_warning(
                self._driven.components[i],
                f"{self._driven.names[i]} moves nothing: all that it acts on is fixed. Does it lie "
                "in the clamp?",
            )
        alike = np.triu(W > ALIKE_MIN * np.outer(size, size), 1)  # antagonists are opposite
        for i, j in np.argwhere(alike & np.outer(lasts * size > 0.0, lasts * size > 0.0)):
            Sofa.msg_warning(
                self._driven.components[j],
                f"{self._driven.names[j]} and {self._driven.names[i]} do the same to the "
                f"whole robot (their effects are parallel to {ALIKE_MIN:g}): only the energy term "
                "chooses between them. Leave one out, or correct where one of them acts.",
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
        self.system.set_effort(rows[self.a], effort, self.factor)

    def _at(self, positions: Sequence[Any]) -> np.ndarray:
        return np.array([data.value[k] for data, k in zip(positions, self._nodes, strict=True)])
