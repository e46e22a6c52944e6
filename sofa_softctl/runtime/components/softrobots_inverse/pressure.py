"""Surface pressure as actuator, equality and sensor."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import InverseRole
from sofa_softctl.runtime.components.constraint.surface_pressure import SurfacePressureModel
from sofa_softctl.runtime.core.data.types import Bool, Real
from sofa_softctl.runtime.helper.message import keeps_sofa_defects


class SurfacePressureActuator(SurfacePressureModel):
    """A cavity whose lambda QPInverseProblemSolver computes, within its limits.

    Departures from SoftRobots.Inverse, which reads neither: maxPressureVariation limits the change
    of lambda, and minVolumeGrowth holds in addition to maxVolumeGrowthVariation.
    """

    inverse_role = InverseRole.ACTUATOR
    limit_data = (
        "minPressure",
        "maxPressure",
        "maxPressureVariation",
        "minVolumeGrowth",
        "maxVolumeGrowth",
        "maxVolumeGrowthVariation",
    )
    previous_data: ClassVar[dict[str, str]] = {
        "effort_previous": "pressure",
        "displacement_previous": "volumeGrowth",
    }

    applyForce = Bool(True, "Apply lambda, not only compute it.")
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
        """Return the bounds of this step by the names of InverseProblem."""
        pressure, growth = self.pressure_limits(), self.growth_limits()
        bounds = {
            "effort_min": pressure[0],
            "effort_max": pressure[1],
            "displacement_min": growth[0],
            "displacement_max": growth[1],
        }
        if self.maxPressureVariation.isSet() and not keeps_sofa_defects():  # SOFA does not read it
            bounds["effort_previous"] = self.pressure.get()
            bounds["effort_rate"] = self.maxPressureVariation.get()
        if self.maxVolumeGrowthVariation.isSet():
            bounds["displacement_previous"] = self.volumeGrowth.get()
            bounds["displacement_rate"] = self.maxVolumeGrowthVariation.get()
        return bounds

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Store lambda and the resulting growth."""
        self.pressure.set(float(lam[0]))
        self.volumeGrowth.set(float(delta[0]))


class SurfacePressureEquality(SurfacePressureModel):
    """A cavity with imposed growth (eqVolumeGrowth) or lambda (eqPressure)."""

    inverse_role = InverseRole.EQUALITY
    limit_data = ("eqVolumeGrowth", "eqPressure")

    def limits(self) -> dict[str, float]:
        """Return limits and imposed values of this step by the names of InverseProblem."""
        bounds = {}
        if self.eqVolumeGrowth.isSet():
            bounds["displacement_fixed"] = self.eqVolumeGrowth.get()
        if self.eqPressure.isSet():
            bounds["effort_fixed"] = self.eqPressure.get()
        return bounds

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Store lambda, and the growth at the start of the step, as SoftRobots does."""
        self.store_start(lam)


class SurfacePressureSensor(SurfacePressureModel):
    """A cavity whose volume is measured; it has a row, but takes no part in the problem."""

    inverse_role = InverseRole.SENSOR

    def limits(self) -> dict[str, float]:
        """Return no limits."""
        return {}

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Store lambda, and the growth at the start of the step, as SoftRobots does."""
        self.store_start(lam)
