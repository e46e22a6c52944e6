"""PositionConstraint: imposed displacement or force along directions."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.constraint.imposed import imposed_value, only_watches
from sofa_softctl.runtime.components.constraint.position_model import PositionModel
from sofa_softctl.runtime.core.data.types import Choice, Int, Real, Reals
from sofa_softctl.runtime.kernels.constraint.gauss_seidel import (
    IMPOSE_DELTA,
    IMPOSE_LAMBDA,
    row_parameters,
)


class PositionConstraint(PositionModel):
    """Moves each node by `value` from where it was at init, or pushes it with the force `value`.

    Exactly one direction: with more, SOFA's component makes fewer resolutions than rows, and its
    solver ends in a segmentation fault. With the force 0 it moves nothing, and gives inverse
    control the row of an effector.
    """

    value = Reals([0.0], "Displacements or multipliers (lambda), of which valueIndex chooses one.")
    valueIndex = Int(0, "Which value.")
    valueType = Choice("displacement", "What 'value' is.", choices=("displacement", "force"))
    minForce = Real(0.0, "Least lambda.", unit="lambda of force")
    maxForce = Real(0.0, "Greatest lambda.", unit="lambda of force")
    maxPositiveDisp = Real(0.0, "Greatest displacement along the direction.", unit="length")
    maxNegativeDisp = Real(0.0, "Greatest displacement against the direction.", unit="length")
    force = Real(0.0, "lambda of the last step.", unit="lambda of force", read_only=True)
    displacement = Real(0.0, "Displacement in the last step.", unit="length", read_only=True)

    def init(self) -> None:
        """Remember where the nodes are."""
        super().init()
        used = int(self.useDirections.get().sum())
        if used != 1:
            raise self.fault(
                f"uses {used} directions; SOFA's solver crashes with more than one. Add one "
                "PositionConstraint for each direction, for instance useDirections=[1, 0, 0]."
            )
        self.x_init = self.positions().copy()

    def violation(self) -> np.ndarray:
        """See LagrangianConstraint."""
        return self.free_motion() + self.along(
            self.state.kind.difference(self.positions(), self.x_init)
        )

    def resolution(self) -> np.ndarray:
        """See LagrangianConstraint."""
        value = imposed_value(self)
        low, high = (
            -self._limit("maxNegativeDisp", np.inf),
            self._limit("maxPositiveDisp", np.inf),
        )
        force_min, force_max = self._limit("minForce", -np.inf), self._limit("maxForce", np.inf)
        if self.valueType.get() == "force":
            value = min(max(value, force_min), force_max)
            row = row_parameters(IMPOSE_LAMBDA, value, delta_min=low, delta_max=high)
        else:
            value = min(max(value, low), high)
            row = row_parameters(IMPOSE_DELTA, value, force_min, force_max)
        return np.tile(row, (self.row_count, 1))

    def _limit(self, name: str, unset: float) -> float:
        data = self._data[name]
        return data.get() if data.isSet() else unset

    def check_differentiable(self) -> None:
        """See LagrangianConstraint; known where it only watches."""
        if not only_watches(self):
            super().check_differentiable()

    def store(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """See LagrangianConstraint."""
        self.force.set(float(lam[0]))
        self.displacement.set(float(delta[0]))
        self.delta.set(delta.copy())
