"""VolumeEffector."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.behavior.constraint import InverseRole
from sofa_softctl.runtime.components.constraint.surface_pressure import SurfacePressureModel
from sofa_softctl.runtime.components.softrobots_inverse.goal import near_goal
from sofa_softctl.runtime.core.data.types import Bool, Real


class VolumeEffector(SurfacePressureModel):
    """The volume shall reach desiredVolume: delta = V - desiredVolume.

    `volumeGrowth` is delta of the last step, the volume that is left to the goal, as in
    SoftRobots.Inverse.
    """

    inverse_role = InverseRole.EFFECTOR

    desiredVolume = Real(0.0, "Goal; the initial volume by default.", unit="length^3")
    limitShiftToTarget = Bool(False, "Bring the goal nearer than maxShiftToTarget.")
    maxShiftToTarget = Real(1.0, "Greatest distance to the goal.", unit="length^3")
    maxSpeed = Real(0.0, "Greatest speed towards the goal.", unit="length^3/time")

    def bwdInit(self) -> None:
        """See SurfacePressureModel; the goal is the initial volume when the scene gives none."""
        super().bwdInit()
        if not self.desiredVolume.isSet():
            self.desiredVolume.set(self.initialCavityVolume.get())

    def violation(self) -> np.ndarray:
        """See LagrangianConstraint."""
        volume = self.cavityVolume.get()
        goal = near_goal(self, self.desiredVolume.get(), volume)
        return np.array([self.free_growth() + volume - goal])

    def limits(self) -> dict[str, float]:
        """None."""
        return {}

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Take over the distance to the goal."""
        self.volumeGrowth.set(float(delta[0]))
