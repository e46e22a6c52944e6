"""Surface pressure as actuator, equality and sensor."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import InverseRole
from sofa_softctl.runtime.components.constraint.surface_pressure import SurfacePressureModel
from sofa_softctl.runtime.core.data.types import Bool, Real


class SurfacePressureActuator(SurfacePressureModel):
    """A cavity whose lambda QPInverseProblemSolver computes, within its limits.

    Departures from SoftRobots.Inverse, which reads neither: maxPressureVariation limits the change
    of lambda, and minVolumeGrowth holds in addition to maxVolumeGrowthVariation.
    """

    inverse_role = InverseRole.ACTUATOR
    limit_data: ClassVar[dict[str, str]] = {
        "effort_min": "minPressure",
        "effort_max": "maxPressure",
        "effort_previous": "pressure",
        "effort_rate": "maxPressureVariation",
        "displacement_min": "minVolumeGrowth",
        "displacement_max": "maxVolumeGrowth",
        "displacement_previous": "volumeGrowth",
        "displacement_rate": "maxVolumeGrowthVariation",
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

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Store lambda and the resulting growth."""
        self.pressure.set(float(lam[0]))
        self.volumeGrowth.set(float(delta[0]))


class SurfacePressureEquality(SurfacePressureModel):
    """A cavity with imposed growth (eqVolumeGrowth) or lambda (eqPressure)."""

    inverse_role = InverseRole.EQUALITY
    limit_data: ClassVar[dict[str, str]] = {
        "displacement_fixed": "eqVolumeGrowth",
        "effort_fixed": "eqPressure",
    }

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Store lambda, and the growth at the start of the step, as SoftRobots does."""
        self.store_start(lam)


class SurfacePressureSensor(SurfacePressureModel):
    """A cavity whose volume is measured; it has a row, but takes no part in the problem."""

    inverse_role = InverseRole.SENSOR

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Store lambda, and the growth at the start of the step, as SoftRobots does."""
        self.store_start(lam)
