"""Surface pressure as actuator, equality and sensor."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import InverseRole
from sofa_softctl.runtime.components.constraint.surface_pressure import SurfacePressureModel
from sofa_softctl.runtime.core.data.types import Bool, Real
from sofa_softctl.runtime.helper.message import keeps_sofa_defects


class SurfacePressureActuator(SurfacePressureModel):
    """A cavity whose lambda QPInverseProblemSolver seeks, within its limits.

    Departures from SoftRobots.Inverse, which reads neither: maxPressureVariation limits the change
    of lambda, and minVolumeGrowth holds beside maxVolumeGrowthVariation.
    """

    inverse_role = InverseRole.ACTUATOR

    applyForce = Bool(True, "False: seek, but do not apply.")
    initPressure = Real(
        0.0, "lambda before the first step.", unit="lambda of pressure", follows="start"
    )

    def init(self) -> None:
        """Start from initPressure and no growth."""
        super().init()
        self.pressure.set(self.initPressure.get())

    @override
    def reset(self) -> None:
        super().reset()
        self.pressure.set(self.initPressure.get())

    def limits(self) -> dict[str, float]:
        """Bounds of this step, by the names of InverseProblem."""
        pressure, growth = self.pressure_limits(), self.growth_limits()
        found = {
            "effort_min": pressure[0],
            "effort_max": pressure[1],
            "displacement_min": growth[0],
            "displacement_max": growth[1],
        }
        if self.maxPressureVariation.isSet() and not keeps_sofa_defects():  # SOFA does not read it
            found["effort_previous"] = self.pressure.get()
            found["effort_rate"] = self.maxPressureVariation.get()
        if self.maxVolumeGrowthVariation.isSet():
            found["displacement_previous"] = self.volumeGrowth.get()
            found["displacement_rate"] = self.maxVolumeGrowthVariation.get()
        return found

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Take over lambda and what it made of the growth."""
        self.pressure.set(float(lam[0]))
        self.volumeGrowth.set(float(delta[0]))


class SurfacePressureEquality(SurfacePressureModel):
    """A cavity whose growth (eqVolumeGrowth) or lambda (eqPressure) is given, others are sought."""

    inverse_role = InverseRole.EQUALITY

    def limits(self) -> dict[str, float]:
        """Limits and given values of this step, by the names of InverseProblem."""
        found = {}
        if self.eqVolumeGrowth.isSet():
            found["displacement_fixed"] = self.eqVolumeGrowth.get()
        if self.eqPressure.isSet():
            found["effort_fixed"] = self.eqPressure.get()
        return found

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Take over lambda, and the growth at the start of the step, as SoftRobots does."""
        self.store_start(lam)


class SurfacePressureSensor(SurfacePressureModel):
    """A cavity whose volume is measured; it has a row, but takes no part in the problem."""

    inverse_role = InverseRole.SENSOR

    def limits(self) -> dict[str, float]:
        """None."""
        return {}

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Take over lambda, and the growth at the start of the step, as SoftRobots does."""
        self.store_start(lam)
