"""SurfacePressureConstraint: imposed pressure or volume of a cavity."""

from __future__ import annotations

import math

import numpy as np

from sofa_softctl.runtime.components.constraint.imposed import imposed_value
from sofa_softctl.runtime.components.constraint.surface_pressure_model import SurfacePressureModel
from sofa_softctl.runtime.core.data.types import Choice, Int, Reals
from sofa_softctl.runtime.kernels.constraint.gauss_seidel import (
    IMPOSE_DELTA,
    IMPOSE_LAMBDA,
    row_parameters,
)


class SurfacePressureConstraint(SurfacePressureModel):
    """A cavity that has the pressure `value`, or has grown by the volume `value`.

    Limits on what is imposed bend `value`; those on the other quantity hold in the solve.
    `volumeGrowth` is that at the start of the step, one step behind, as in SoftRobots. Departure:
    where `value` is a pressure that the growth does not allow, the growth stops at its limit;
    SoftRobots' prediction counts the pressure twice from the second sweep on.
    """

    value = Reals([0.0], "Multipliers (lambda) or growths, of which valueIndex chooses one.")
    valueIndex = Int(0, "Which value.")
    valueType = Choice("pressure", "What 'value' is.", choices=("pressure", "volumeGrowth"))

    def init(self) -> None:
        """Remember the values, to which a reset returns."""
        super().init()
        self._first_values = self.value.get().copy()

    def reset(self) -> None:
        """Back to the state after init, `value` too, as in SoftRobots."""
        super().reset()
        if not self.value.hasParent():
            self.value.set(self._first_values.copy())

    def resolution(self) -> np.ndarray:
        """See LagrangianConstraint."""
        pressures, growths = self.pressure_limits(), self.growth_limits()
        if self.valueType.get() == "pressure":
            value = self._bent("pressure", "maxPressureVariation", pressures)
            row = row_parameters(IMPOSE_LAMBDA, value, -math.inf, math.inf, *growths)
        else:
            value = self._bent("volumeGrowth", "maxVolumeGrowthVariation", growths)
            row = row_parameters(IMPOSE_DELTA, value, *pressures)
        return row[None, :]

    def _bent(self, quantity: str, variation: str, limits: tuple[float, float]) -> float:
        """`value`, not too far from the present quantity, then within its limits."""
        now, rate = self._data[quantity].get(), self.limit(variation, math.inf)
        value = min(max(imposed_value(self), now - rate), now + rate)
        return min(max(value, limits[0]), limits[1])

    def store(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """See LagrangianConstraint."""
        self.pressure.set(float(lam[0]))
        self.volumeGrowth.set(self.cavityVolume.get() - self.initialCavityVolume.get())
