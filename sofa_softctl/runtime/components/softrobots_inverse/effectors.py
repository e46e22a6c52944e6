"""Effectors: points, centers, volumes and cable lengths that have goals."""

from __future__ import annotations

import math

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import InverseRole, LagrangianConstraint
from sofa_softctl.runtime.components.constraint.cable import CableModel
from sofa_softctl.runtime.components.constraint.position import PositionModel
from sofa_softctl.runtime.components.constraint.surface_pressure import SurfacePressureModel
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Bool, Bools, Coords, Real, Vectors
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects


class PositionEffector(PositionModel):
    """Nodes that should reach effectorGoal: delta = w d . (x - goal).

    For bodies the goal is a position and a quaternion, and the last part of x - goal is the
    rotation from the goal, axis times angle.
    """

    inverse_role = InverseRole.EFFECTOR

    effectorGoal = Coords([], "Goal of each node.", unit="length", per="indices", shared=False)
    limitShiftToTarget = Bool(False, "Limit the distance to goals by maxShiftToTarget.")
    maxShiftToTarget = Real(1.0, "Largest distance to a goal in each coordinate.", unit="length")
    maxSpeed = Real(0.0, "Largest speed towards the goal.", unit="length/time")

    def init(self) -> None:
        """Check the goals, by default the nodes' positions."""
        goals = self.effectorGoal
        has_goals = len(goals.get()) or (goals.isSet() and not goals.hasParent())
        if has_goals and len(goals.get()) < len(nodes := self.indices.get()):
            problem = f"has {len(nodes)} nodes but {len(goals.get())} goals in 'effectorGoal'."
            complain(self, self.fault(problem), " The nodes without a goal do not count.")
            self.indices.set(nodes[: len(goals.get())])
        super().init()
        if not has_goals:
            origin = np.zeros((1, self.state.coord_size))
            origin[:, 6:] = 1.0  # no rotation of a body
            goals.set(origin if keeps_sofa_defects() else self.targets().copy())
        self._check_goals()

    def targets(self) -> np.ndarray:
        """Return the points that should reach the goals, shape (n, coord_size)."""
        return self.state.position.get()[self.indices.get()]

    def data_changed(self, data: Data) -> None:
        """Check new goals when the scene sets them."""
        if data.type.name == "effectorGoal" and hasattr(self, "row_nodes"):
            self._check_goals()

    def _check_goals(self) -> None:
        goals, count = self.effectorGoal.get(), len(self.targets())
        if len(goals) < count:
            raise self.fault(f"has {count} nodes but {len(goals)} goals in 'effectorGoal'.")
        if not np.isfinite(goals).all():
            raise self.fault("has an 'effectorGoal' that is not finite.")
        if goals.shape[1] == 7 and not goals[:, 3:].any(axis=1).all():
            problem = "has an 'effectorGoal' with the quaternion 0 0 0 0: give 0 0 0 1 for no turn."
            complain(self, self.fault(problem), " Bodies are not turned to it, as in SOFA.")

    def goals(self) -> np.ndarray:
        """Return this step's goals within maxSpeed and maxShiftToTarget, (n, coord_size)."""
        x, kind = self.targets(), self.state.kind
        goal = self.effectorGoal.get()[: len(x)]
        if self.maxSpeed.isSet():
            assert self._context is not None
            reach = self.maxSpeed.get() * self._context.dt.get()
            change = kind.difference(goal, x)
            length = np.linalg.norm(change, axis=1, keepdims=True)
            factor = np.where(length > reach, reach / np.where(length == 0.0, 1.0, length), 1.0)
            goal = x.copy()
            if keeps_sofa_defects():  # a body's rotation is added to the quaternion
                goal[:, : change.shape[1]] += factor * change
            else:
                kind.advance(x, factor * change, 1.0, goal)
        if self.limitShiftToTarget.get():
            reach = self.maxShiftToTarget.get()
            shift = kind.difference(goal, x)
            clipped = np.where(shift_size(shift) > reach, np.sign(shift) * reach, shift)
            goal = np.empty_like(x)
            kind.advance(x, clipped, 1.0, goal)
        return goal

    @override
    def violation(self) -> np.ndarray:
        gap = self.state.kind.difference(self.targets(), self.goals())
        per_node = len(self.row_nodes) // max(len(gap), 1)
        return self.free_motion() + self.components_along(np.repeat(gap, per_node, axis=0))

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Store the rows' distances."""
        self.delta.set(delta.copy())


class BarycentricCenterEffector(PositionEffector):
    """The mean of all points should reach effectorGoal."""

    acts_on = ("Vec3",)

    axis = Bools(3, [True, True, True], "Old name of `useDirections`.", follows="reinit")
    barycenter = Vectors(3, [], "Mean of all nodes.", unit="length", read_only=True)
    drawBarycenter = Bool(False, "Draw the mean.")

    @override
    def count_of(self, per: str) -> tuple[int, str] | None:
        return (1, "mean of all nodes") if per == "indices" else super().count_of(per)

    def init(self) -> None:
        """Create a row for each used direction, on all nodes."""
        if self.axis.isSet():
            self.useDirections.set(self.axis.get().copy())
        super().init()
        count = self.state.count
        used = len(self.row_nodes) // count
        self.row_numbers = np.tile(np.arange(used), count)
        self.row_directions = self.row_directions / count
        self._used_count = used
        self.set_rows()

    def _nodes(self) -> np.ndarray:
        return np.arange(self.state.count)

    @override
    def targets(self) -> np.ndarray:
        mean = self.state.position.get().mean(axis=0, keepdims=True)
        self.barycenter.set(mean)
        return mean

    @property
    @override
    def row_count(self) -> int:
        return self._used_count

    @override
    def violation(self) -> np.ndarray:
        state = self.state
        motion = (state.free_position.get() - state.position.get()).mean(axis=0)
        gap = (self.targets() - self.goals())[0]
        unit = self.row_directions[: self._used_count] * self.state.count
        return unit @ (motion + gap)


def shift_size(shift: np.ndarray) -> np.ndarray:
    """Return |shift|; SOFA truncates it by C's function for integers."""
    size = np.abs(shift)
    return np.trunc(size) if keeps_sofa_defects() else size


def limited_goal(effector: LagrangianConstraint, goal: float, value: float) -> float:
    """Return the goal, limited around `value` by maxShiftToTarget and maxSpeed.

    Departure from SoftRobots.Inverse: there maxSpeed limits positions only (see
    `keeps_sofa_defects`).
    """
    assert effector._context is not None
    data, reach = effector._data, math.inf
    shift = shift_size(np.asarray(goal - value))
    if data["limitShiftToTarget"].get() and shift > data["maxShiftToTarget"].get():
        reach = data["maxShiftToTarget"].get()
    if data["maxSpeed"].isSet() and not keeps_sofa_defects():
        reach = min(reach, data["maxSpeed"].get() * effector._context.dt.get())
    nearest = value + reach if goal > value else value - reach
    return goal if abs(goal - value) <= reach else nearest


class VolumeEffector(SurfacePressureModel):
    """The volume should reach desiredVolume: delta = V - desiredVolume."""

    inverse_role = InverseRole.EFFECTOR

    desiredVolume = Real(0.0, "Goal; the initial volume by default.", unit="length^3")
    limitShiftToTarget = Bool(False, "Limit the distance to the goal by maxShiftToTarget.")
    maxShiftToTarget = Real(1.0, "Largest distance to the goal.", unit="length^3")
    maxSpeed = Real(0.0, "Largest speed towards the goal.", unit="length^3/time")

    def bwdInit(self) -> None:
        """Check and measure again; the goal is by default the initial volume."""
        super().bwdInit()
        if not self.desiredVolume.isSet():
            self.desiredVolume.set(self.initialCavityVolume.get())

    @override
    def violation(self) -> np.ndarray:
        volume = self.cavityVolume.get()
        goal = limited_goal(self, self.desiredVolume.get(), volume)
        return np.array([self.free_growth() + volume - goal])

    def limits(self) -> dict[str, float]:
        """Return no limits."""
        return {}

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Store lambda, and the growth at the start of the step, as SoftRobots does."""
        self.store_start(lam)


class CableEffector(CableModel):
    """The length should reach desiredLength: delta = desiredLength - L.

    Departure from SoftRobots.Inverse, which uses 0 (see `keeps_sofa_defects`): the default goal is
    the initial length.
    """

    inverse_role = InverseRole.EFFECTOR

    desiredLength = Real(0.0, "Goal; the initial length by default.", unit="length")
    limitShiftToTarget = Bool(False, "Limit the distance to the goal by maxShiftToTarget.")
    maxShiftToTarget = Real(1.0, "Largest distance to the goal.", unit="length")
    maxSpeed = Real(0.0, "Largest speed towards the goal.", unit="length/time")

    def init(self) -> None:
        """Measure the initial length, the default goal."""
        super().init()
        if not self.desiredLength.isSet() and not keeps_sofa_defects():
            self.desiredLength.set(self.cableInitialLength.get())

    @override
    def violation(self) -> np.ndarray:
        length = self.cableLength.get()
        goal = limited_goal(self, self.desiredLength.get(), length)
        return np.array([self.free_motion() + goal - length])

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Store lambda, and the displacement at the start of the step, as SoftRobots does."""
        self.store_start(lam)


class CableSensor(CableModel):
    """A cable whose length is measured; it has a row, but takes no part in the problem."""

    inverse_role = InverseRole.SENSOR

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Store lambda, and the displacement at the start of the step, as SoftRobots does."""
        self.store_start(lam)
