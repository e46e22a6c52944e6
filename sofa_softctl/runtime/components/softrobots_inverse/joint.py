"""JointActuator."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import InverseRole
from sofa_softctl.runtime.components.constraint.joint import JointModel
from sofa_softctl.runtime.core.data.types import Bool, Real
from sofa_softctl.runtime.helper.message import keeps_sofa_defects


class JointActuator(JointModel):
    """A joint whose lambda QPInverseProblemSolver computes; delta is its angle q - initAngle.

    Source: SoftRobots.Inverse's JointActuator.
    """

    inverse_role = InverseRole.ACTUATOR
    limit_data: ClassVar[dict[str, str]] = {
        "effort_min": "minEffort",
        "effort_max": "maxEffort",
        "effort_previous": "effort",
        "effort_rate": "maxEffortVariation",
        "displacement_min": "minAngle",
        "displacement_max": "maxAngle",
        "displacement_previous": "angle",
        "displacement_rate": "maxAngleVariation",
    }

    applyForce = Bool(True, "Apply lambda, not only compute it.")
    initEffort = Real(
        0.0, "lambda before the first step.", unit="lambda of force*length", follows="start"
    )
    initAngle = Real(0.0, "Coordinate at the angle 0.", unit="radian")
    minEffort = Real(0.0, "Smallest lambda.", unit="lambda of force*length")
    maxEffort = Real(0.0, "Largest lambda.", unit="lambda of force*length")
    maxEffortVariation = Real(
        0.0, "Largest change of lambda per step.", unit="lambda of force*length"
    )
    minAngle = Real(0.0, "Smallest angle.", unit="radian")
    maxAngle = Real(0.0, "Largest angle.", unit="radian")
    maxAngleVariation = Real(0.0, "Largest change of the angle per step.", unit="radian")
    effort = Real(0.0, "lambda of the last step.", unit="lambda of force*length", read_only=True)
    angle = Real(0.0, "Angle in the last step.", unit="radian", read_only=True)

    def init(self) -> None:
        """Start from initEffort and the joint's angle."""
        super().init()
        self.effort.set(self.initEffort.get())
        start = self.initAngle.get()
        # SOFA's variation counts from initAngle, so that the first step jumps there
        self.angle.set(start if keeps_sofa_defects() else self.coordinate() - start)

    def reset(self) -> None:
        """Restore the state after init."""
        self.init()

    @override
    def violation(self) -> np.ndarray:
        return np.array([self.coordinate("free_position") - self.initAngle.get()])

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Store lambda and the resulting angle."""
        self.effort.set(float(lam[0]))
        self.angle.set(float(delta[0]))
