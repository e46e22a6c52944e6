"""Actuators and effectors of a step as rows of the inverse problem, and back."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import Sofa

from sofa_softctl.base.jit import njit
from sofa_softctl.inverse.rows.actuators import Actuators
from sofa_softctl.scene.control.access import reader
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
        self._driven = driven
        self.system = ComplianceSystem(root)
        self.factor = np.array([self.system.effort_factor(c) for c in driven.components])
        """Multiplier of one unit of effort of each actuator, shape (n_a,)."""
        self.a_part, self.e_part = slice(0, driven.count), slice(driven.count, None)
        """Slices of the actuators' and of the effectors' rows."""
        self.states = [rows[0].getContext().getMechanicalState() for rows in effectors]
        """State of each effector."""
        nodes = [int(rows[0].indices.value[0]) for rows in effectors]
        self._position, self._free = (
            [(reader(s.findData(name)), k) for s, k in zip(self.states, nodes, strict=True)]
            for name in ("position", "free_position")
        )
        self._compared = False
        self._owned = self.system.rows_of([*driven.components, *itertools.chain(*effectors)])

    def row_indices(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of actuators and effectors in this step, and all other rows."""
        return self._owned.row_indices()

    def warn_of_set_values(self, step: float) -> None:
        """Warn of values that somebody else has set, see `Actuators.newly_set`."""
        for component in self._driven.newly_set(step):
            Sofa.msg_warning(
                component,
                f"'value' of {component.getPathName()} was set, but the InverseController that "
                "drives it computes its effort: what is set has no effect. Leave it out of "
                "'actuators', or do not set it.",
            )

    def tip(self) -> np.ndarray:
        """Position of each effector [length], shape (n_e, 3)."""
        return self._read_points(self._position)

    def mechanics(
        self, rows: np.ndarray, other_rows: np.ndarray, target: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return W_ea, W_aa, delta_e_free and delta_a_free of this step, see `InverseProblem`.

        Args:
            rows: Rows of actuators and effectors.
            other_rows: Rows of constraints whose forces are taken as the forward solver finds them.
            target: Position of each effector at the end of the step [length], shape (n_e, 3).
        """
        solver, free = self.system.solver, self._read_points(self._free)
        W, delta_free, lam = solver.W(), solver.dfree(), solver.lambda_force()
        mechanics = gather_mechanics(
            np.ascontiguousarray(W), delta_free, lam, rows, other_rows, self.factor, free, target
        )
        if not self._compared:
            self._compared = True
            self._warn_of_pairs(mechanics[1])
        return mechanics

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

    @staticmethod
    def _read_points(positions: Sequence[tuple[Callable[[], Any], int]]) -> np.ndarray:
        points = np.empty((len(positions), 3))
        for i, (read, node) in enumerate(positions):
            points[i] = read()[node]
        return points


@njit
def gather_mechanics(
    W: np.ndarray,
    delta_free: np.ndarray,
    lam: np.ndarray,
    rows: np.ndarray,
    other_rows: np.ndarray,
    factor: np.ndarray,
    free: np.ndarray,
    target: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return W_ea, W_aa, delta_e_free and delta_a_free of the controlled rows.

    SOFA's effector rows count from the node's position at init(), not from where the scene starts
    it; their delta_free carries that offset. So it is taken from the free positions.

    Args:
        W, delta_free, lam: Constraint system of the step, n rows.
        rows: Rows of n_a actuators and 3 n_e effectors.
        other_rows: Rows whose multipliers are taken as they are.
        factor: Multiplier of one unit of effort of each actuator, shape (n_a,).
        free, target: Free position and target of each effector [length], shape (n_e, 3).
    """
    n_a, n_e = len(factor), target.size
    W_ea, W_aa = np.empty((n_e, n_a)), np.empty((n_a, n_a))
    delta_e, delta_a = np.empty(n_e), np.empty(n_a)
    for k in range(n_a + n_e):
        r = rows[k]
        by_others = 0.0
        for row in other_rows:
            by_others += W[r, row] * lam[row]
        if k < n_a:
            delta_a[k] = delta_free[r] + by_others
            for j in range(n_a):
                W_aa[k, j] = W[r, rows[j]] * factor[j]
        else:
            e = k - n_a
            delta_e[e] = free[e // 3, e % 3] - target[e // 3, e % 3] + by_others
            for j in range(n_a):
                W_ea[e, j] = W[r, rows[j]] * factor[j]
    return W_ea, W_aa, delta_e, delta_a
