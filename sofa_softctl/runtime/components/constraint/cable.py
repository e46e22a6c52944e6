"""CableConstraint: imposed displacement or force."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.constraint.cable_model import CableModel
from sofa_softctl.runtime.components.constraint.imposed import imposed_value
from sofa_softctl.runtime.core.data.types import Choice, Int, Reals
from sofa_softctl.runtime.kernels.constraint.gauss_seidel import (
    IMPOSE_DELTA,
    IMPOSE_LAMBDA,
    row_parameters,
)


class CableConstraint(CableModel):
    """A cable that is pulled in by `value`, or with the force `value`.

    `displacement` is that at the start of the step, one step behind, as in SoftRobots.
    """

    value = Reals([0.0], "Displacements or multipliers (lambda), of which valueIndex chooses one.")
    valueIndex = Int(0, "Which value.")
    valueType = Choice("displacement", "What 'value' is.", choices=("displacement", "force"))

    def resolution(self) -> np.ndarray:
        """See LagrangianConstraint."""
        value = imposed_value(self)
        low, high = self.displacement_limits()
        force_min, force_max = self.limit("minForce", -np.inf), self.limit("maxForce", np.inf)
        if self.valueType.get() == "force":
            value = min(max(value, force_min), force_max)
            row = row_parameters(IMPOSE_LAMBDA, value, delta_min=low, delta_max=high)
        else:
            rate = self.limit("maxDispVariation", np.inf)
            now = self.displacement.get()
            value = min(max(value, now - rate), now + rate)
            value = min(max(value, low), high)
            row = row_parameters(IMPOSE_DELTA, value, force_min, force_max)
        return row[None, :]

    def store(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """See LagrangianConstraint."""
        self.force.set(float(lam[0]))
        self.displacement.set(self.cableInitialLength.get() - self.cableLength.get())
