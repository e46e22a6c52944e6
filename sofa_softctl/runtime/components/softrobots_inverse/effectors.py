"""Effectors: points, centers, volumes and cable lengths that have goals."""

from __future__ import annotations

import math

import numpy as np

from sofa_softctl.runtime.behavior.constraint import InverseRole, LagrangianConstraint
from sofa_softctl.runtime.components.constraint.cable import CableModel
from sofa_softctl.runtime.components.constraint.position import PositionModel
from sofa_softctl.runtime.components.constraint.surface_pressure import SurfacePressureModel
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Bool, Bools, Coords, Real, Vectors


class PositionEffector(PositionModel):
    """Nodes that shall reach effectorGoal: delta = w d . (x - goal).

    For bodies the goal is a position and a quaternion; x - goal then ends in the turn from the
    goal, axis times angle.
    """

    inverse_role = InverseRole.EFFECTOR

    effectorGoal = Coords([], "Goal of each node.", unit="length", per="indices", shared=False)
    limitShiftToTarget = Bool(False, "Bring goals nearer than maxShiftToTarget.")
    maxShiftToTarget = Real(1.0, "Greatest distance to a goal in each coordinate.", unit="length")
    maxSpeed = Real(0.0, "Greatest speed of a goal.", unit="length/time")

    def init(self) -> None:
        """Check the goals; without any, the nodes' own positions."""
        super().init()
        goals = self.effectorGoal
        if not len(goals.get()):
            goals.set(self.targets().copy())
        self._check_goals()
        self._goal = goals.get().copy()  # as limited by maxSpeed

    def reset(self) -> None:
        """Start again from the present goals."""
        self._goal = self.effectorGoal.get().copy()

    def snapshot(self) -> dict[str, np.ndarray]:
        """See Component."""
        return {"goal": self._goal.copy()}

    def restore(self, snapshot: dict[str, np.ndarray]) -> None:
        """See Component."""
        self._goal = snapshot["goal"].copy()

    def targets(self) -> np.ndarray:
        """Points to be led to the goals, shape (n, coord_size)."""
        return self.state._data["position"].get()[self.indices.get()]

    def data_changed(self, data: Data) -> None:
        """Check new goals at once, where the scene sets them."""
        if data.type.name == "effectorGoal" and hasattr(self, "row_nodes"):
            self._check_goals()

    def _check_goals(self) -> None:
        goals, count = self.effectorGoal.get(), len(self.targets())
        if len(goals) < count:
            raise self.fault(f"has {count} nodes but {len(goals)} goals in 'effectorGoal'.")
        if not np.isfinite(goals).all():
            raise self.fault("has an 'effectorGoal' that is not finite.")

    def goals(self) -> np.ndarray:
        """The goals of this step, limited by maxSpeed and maxShiftToTarget, (n, coord_size)."""
        x, kind = self.targets(), self.state.kind
        goal = self.effectorGoal.get()[: len(x)]
        if self.maxSpeed.isSet():
            assert self._context is not None
            reach = self.maxSpeed.get() * self._context._data["dt"].get()
            change = kind.difference(goal, self._goal[: len(x)])
            length = np.linalg.norm(change, axis=1, keepdims=True)
            factor = np.minimum(1.0, reach / np.where(length == 0.0, 1.0, length))
            goal = np.empty_like(x)
            kind.advance(self._goal[: len(x)], factor * change, 1.0, goal)
            self._goal = goal.copy()
        if self.limitShiftToTarget.get():
            reach = self.maxShiftToTarget.get()
            near = np.clip(kind.difference(goal, x), -reach, reach)
            goal = np.empty_like(x)
            kind.advance(x, near, 1.0, goal)
        return goal

    def violation(self) -> np.ndarray:
        """See LagrangianConstraint."""
        gap = self.state.kind.difference(self.targets(), self.goals())
        per_node = len(self.row_nodes) // len(gap)
        return self.free_motion() + self.along(np.repeat(gap, per_node, axis=0))

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Take over the rows' distances."""
        self.delta.set(delta.copy())


class BarycentricCenterEffector(PositionEffector):
    """The mean of all points shall reach effectorGoal."""

    acts_on = ("Vec3",)

    axis = Bools(3, [True, True, True], "Old name of `useDirections`.", follows="reinit")
    barycenter = Vectors(3, [], "Mean of all nodes.", unit="length", read_only=True)
    drawBarycenter = Bool(False, "Draw the mean.")

    def count_of(self, per: str) -> tuple[int, str] | None:
        """See Component."""
        return (1, "mean of all nodes") if per == "indices" else super().count_of(per)

    def init(self) -> None:
        """One row for each used direction, spread over all nodes."""
        self.indices.set(np.arange(self.state.count))
        if self.axis.isSet():
            self.useDirections.set(self.axis.get().copy())
        super().init()
        count = self.state.count
        used = len(self.row_nodes) // count
        self.row_numbers = np.tile(np.arange(used), count)
        self.row_directions = self.row_directions / count
        self._used = used
        self.share_rows()

    def targets(self) -> np.ndarray:
        """See PositionEffector."""
        mean = self.state._data["position"].get().mean(axis=0, keepdims=True)
        self.barycenter.set(mean)
        return mean

    @property
    def row_count(self) -> int:
        """See LagrangianConstraint."""
        return self._used

    def violation(self) -> np.ndarray:
        """See LagrangianConstraint."""
        state = self.state._data
        motion = (state["free_position"].get() - state["position"].get()).mean(axis=0)
        gap = (self.targets() - self.goals())[0]
        unit = self.row_directions[: self._used] * self.state.count
        return unit @ (motion + gap)


def near_goal(effector: LagrangianConstraint, goal: float, now: float) -> float:
    """The goal, brought as near to `now` as maxShiftToTarget and maxSpeed demand.

    Departure from SoftRobots.Inverse: there maxSpeed holds for positions only.
    """
    assert effector._context is not None
    data, reach = effector._data, math.inf
    if data["limitShiftToTarget"].get():
        reach = data["maxShiftToTarget"].get()
    if data["maxSpeed"].isSet():
        reach = min(reach, data["maxSpeed"].get() * effector._context._data["dt"].get())
    return min(max(goal, now - reach), now + reach)


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


class CableEffector(CableModel):
    """The length shall reach desiredLength: delta = desiredLength - L.

    `displacement` is delta of the last step. Departure from SoftRobots.Inverse, which takes 0:
    without a goal the length shall stay what it was.
    """

    follows_otherwise = {"cableInitialLength": "start"}

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
