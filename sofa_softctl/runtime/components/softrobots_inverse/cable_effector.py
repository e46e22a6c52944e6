"""CableEffector and CableSensor: the length of a cable as goal or measurement."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.behavior.constraint import InverseRole
from sofa_softctl.runtime.components.constraint.cable_model import CableModel
from sofa_softctl.runtime.components.softrobots_inverse.goal import near_goal
from sofa_softctl.runtime.core.data.types import Bool, Real


class CableEffector(CableModel):
    """The length shall reach desiredLength: delta = desiredLength - L.

    `displacement` is delta of the last step. Departure from SoftRobots.Inverse, which takes 0:
    without a goal the length shall stay what it was.
    """

    inverse_role = InverseRole.EFFECTOR

    desiredLength = Real(0.0, "Goal; the initial length by default.", unit="length")
    limitShiftToTarget = Bool(False, "Bring the goal nearer than maxShiftToTarget.")
    maxShiftToTarget = Real(1.0, "Greatest distance to the goal.", unit="length")
    maxSpeed = Real(0.0, "Greatest speed towards the goal.", unit="length/time")

    def init(self) -> None:
        """Measure the first length, and aim at it when the scene gives no goal."""
        super().init()
        if not self.desiredLength.isSet():
            self.desiredLength.set(self.cableInitialLength.get())

    def violation(self) -> np.ndarray:
        """See LagrangianConstraint."""
        length = self.cableLength.get()
        goal = near_goal(self, self.desiredLength.get(), length)
        return np.array([self.free_motion() + goal - length])

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Take over the distance to the goal."""
        self.displacement.set(float(delta[0]))


class CableSensor(CableModel):
    """A cable whose length is measured; it has a row, but takes no part in the problem."""

    inverse_role = InverseRole.SENSOR

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Take over how much shorter it is at the end of the step, to first order."""
        self.displacement.set(float(delta[0]))
