"""Effectors of a QPInverseProblemSolver that end far from their goals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.scene.graph.nodes import attributes_of, body_size, nodes_of, objects_of, own_state
from sofa_softctl.scene.plausibility.bodies import at, carried_goal, is_bare, is_followed

STEPS_MIN = 50
"""Steps after which an effector is judged [-]."""
DISTANCE_RATIO_MIN = 0.05
"""Distance to a goal by the size of the body, above which it is reported [-]."""
LIMIT_TOLERANCE = 1e-2
"""Relative difference from a limit within which an actuator is at it [-]."""
LIMITS = (
    ("force", "maxForce"),
    ("displacement", "maxPositiveDisp"),
    ("displacement", "maxDispVariation"),
)
GOAL_DISTANCE_RATIO_MAX = 5.0
"""Distance of a goal by the size of the body, above which the goal has run away [-]."""
SHIFT_RATIO_MIN = 10.0
"""Distance to a goal by maxShiftToTarget, above which that limit is the cause [-]."""
ENERGY_MIN = 0.1
"""Weight of the actuators' energy above which it outweighs goals; SOFA's default is 1e-3 [-]."""
EFFECT_TOLERANCE = 1e-6
"""Effect of actuators by their and the effector's compliance, below which it is zero [-]."""


@dataclass
class _WatchedLimit:
    """A limit of an actuator, and the number of steps in which the actuator is at it."""

    actuator: Any
    name: str
    value: Any
    """Data that is limited, itself or by its change in a step."""
    bound: Any
    steps: int = 0
    before: float = 0.0

    def step(self) -> None:
        """Look at a step."""
        bound, current = float(self.bound.value), float(self.value.value)
        if self.name.endswith("Variation"):
            current, self.before = abs(current - self.before), current
        self.steps += current >= bound - LIMIT_TOLERANCE * abs(bound)


class WatchedEffector:
    """A PositionEffector of points, and limits that actuators are at in every step."""

    def __init__(self, component: Any, solver: Any) -> None:
        self._component = component
        self._state = component.getContext().getMechanicalState()
        self._size = body_size(component.getContext())
        self._steps = 0
        self._nearest = self._farthest = self._distance()
        self._solver = solver
        cables = [e for e in objects_of(solver.getContext()) if e.getClassName() == "CableActuator"]
        self._limits = [
            _WatchedLimit(item, limit, item.findData(value), data)
            for item in cables
            for value, limit in LIMITS
            if (data := item.findData(limit)) is not None and data.isSet()
        ]
        self._goal_start = np.array(component.effectorGoal.value, dtype=float)[:1, :3]
        self._effect = 0.0  # of the actuators, the largest so far [-]
        self._rows = [
            item
            for item in objects_of(component.getContext().getRoot())
            if getattr(item, "inverse_role", None) is not None
        ]
        # Along directions that do not count: travel of the goal, and distance.
        self._ignored = np.zeros(2)

    def _distance(self) -> float:
        """Return the distance to the goal along the directions that count [length]."""
        difference, _, directions, use = self._difference()
        return _largest(difference, directions[use])

    def _difference(self) -> tuple[np.ndarray, ...]:
        """Return position minus goal, goals, directions, and which of these count [length]."""
        effector = self._component
        x = np.asarray(self._state.position.value)[np.asarray(effector.indices.value, dtype=int)]
        use = np.asarray(effector.useDirections.value, dtype=bool)[:3]
        directions = np.asarray(effector.directions.value, dtype=float)[: len(use), :3]
        goal = np.asarray(effector.effectorGoal.value, dtype=float)[: len(x), :3]
        return x[: len(goal), :3] - goal, goal, directions, use

    def step(self) -> None:
        """Note the distance and the limits of a step."""
        self._steps += 1
        difference, goal, directions, use = self._difference()
        distance = _largest(difference, directions[use])
        if not use.all():
            parts = (goal[:1] - self._goal_start, difference)
            sizes = [np.abs(part @ directions[~use].T).max(initial=0.0) for part in parts]
            self._ignored = np.maximum(self._ignored, sizes)
        if self._effect <= EFFECT_TOLERANCE:
            self._effect = self._effect_now()
        self._farthest = max(self._farthest, distance)
        self._nearest = min(self._nearest, distance)
        for limit in self._limits:
            limit.step()

    def _effect_now(self) -> float:
        """Return the largest effect of an actuator on it [-]; inf where others may pass it on."""
        W = getattr(attributes_of(self._solver).get("problem"), "W", None)  # SOFA gives none
        if W is None:
            return np.inf
        rows = {
            component: int(component.constraintIndex.value) + np.arange(component.row_count)
            for component in self._rows
        }
        drives = [r for e, r in rows.items() if not e.getClassName().endswith("Effector")]
        is_known = sum(map(len, rows.values())) == len(W) and self._component in rows
        if not is_known or not drives or not np.any(self._component.weight.value):
            return np.inf
        size = np.sqrt(np.maximum(W.diagonal(), 1e-300))
        own_rows, drive_rows = rows[self._component], np.concatenate(drives)
        effects = np.abs(W / np.outer(size, size))[np.ix_(own_rows, drive_rows)]
        return float(effects.max(initial=0.0))

    def text(self) -> str:
        """Return a sentence if it ends far from its goal with actuators at limits, else ''."""
        source = self._component.effectorGoal.getParent()
        if source is not None and (text := carried_goal(self._component.getContext(), source)):
            return text
        if self._effect <= EFFECT_TOLERANCE and self._steps:
            return (
                f"{at(self._component)}: no actuator moves it along the directions that "
                "count: is its point fixed, is it on another body than all actuators, or does "
                "'useDirections' name the wrong ones?"
            )
        distance = self._distance()
        travel, ignored = self._ignored
        if 2.0 * ignored > travel > DISTANCE_RATIO_MIN * self._size:
            return (
                f"{at(self._component)}: its goal moves by {travel:.3g} along a direction that "
                "'useDirections' leaves out, and it does not follow there. Give 1 for that one."
            )
        if (
            self._farthest
            > GOAL_DISTANCE_RATIO_MAX * self._size
            > GOAL_DISTANCE_RATIO_MAX * self._nearest
        ):
            return (
                f"{at(self._component)}: its goal was in reach, and then up to "
                f"{self._farthest:.3g} away, where the robot is {self._size:.3g} long: does a "
                "script add to the goal in each step, or is it in another unit?"
            )
        if self._steps < STEPS_MIN or distance < max(
            DISTANCE_RATIO_MIN * self._size, 0.5 * self._farthest
        ):
            return ""
        reason = self._reason(distance)
        if not reason:  # a goal out of reach, or one that is approached slowly, may be meant
            return ""
        return (
            f"{self._component.getClassName()} '{self._component.getPathName()}' ends "
            f"{distance:.3g} from its goal, and was at most {self._farthest:.3g} away. {reason}"
        )

    def _reason(self, distance: float) -> str:
        """Return what keeps it this far from its goal, else ''."""
        effector, epsilon = self._component, float(self._solver.epsilon.value)
        if not np.any(effector.weight.value):
            return "Its weight is 0, so that its goal does not count. Give a positive weight."
        reasons = [
            f"{limit.actuator.getPathName()} at {limit.name}={float(limit.bound.value):g} "
            f"in {limit.steps}"
            for limit in self._limits
            if 5 * limit.steps > self._steps
        ][:3]
        shift = float(effector.maxShiftToTarget.value)
        if effector.limitShiftToTarget.value and distance > SHIFT_RATIO_MIN * shift:
            reasons = [f"in each limitShiftToTarget brings the goal to {shift:g} of it"]
        if reasons:
            return (
                f"Of {self._steps} steps, {', '.join(reasons)}. Are these limits in another unit?"
            )
        if epsilon < ENERGY_MIN:
            return ""
        return (
            f"'{self._solver.getPathName()}' has epsilon={epsilon:g}, with which saving the "
            "actuators' energy counts more than the goal: give 1e-3, say."
        )


class StillGoals:
    """Goals that stay through a run, and targets that move without being followed."""

    def __init__(self, root: Any) -> None:
        self._targets = [
            (state, np.array(state.position.value))
            for node in nodes_of(root)
            if (state := own_state(node)) is not None and is_bare(node)
        ]
        self._goals = [
            (data, np.array(data.value))
            for item in objects_of(root)
            for name in ("effectorGoal", "goal")
            if (data := item.findData(name)) is not None
        ]

    def texts(self) -> Iterator[str]:
        """Return a sentence on each target that has moved if no goal has."""
        if not self._goals or any(not np.array_equal(data.value, x) for data, x in self._goals):
            return
        goal = self._goals[0][0]
        sources = [s for data, _ in self._goals if (s := data.getParent()) is not None]
        users = [data.getOwner() for data, _ in self._goals]
        for state, x in self._targets:
            linked = [f"follows its {s.getName()}" for s in sources if s.getOwner() is state]
            if np.array_equal(state.position.value, x):
                continue
            if linked or not is_followed([state], [*users, *state.getContext().objects]):
                yield (
                    f"{at(state)} has moved, but no goal has: '{goal.getName()}' of "
                    f"'{goal.getOwner().getPathName()}' {linked[0] if linked else 'has numbers'}. "
                    f"If it is the target, link '@{state.getPathName()}.position'."
                )


def watched_effectors(root: Any) -> list[WatchedEffector]:
    """Return watches on the effectors of points of a scene that a QPInverseProblemSolver leads."""
    components = list(objects_of(root))
    solver = next((e for e in components if e.getClassName() == "QPInverseProblemSolver"), None)
    return [
        WatchedEffector(component, solver)
        for component in (components if solver is not None else ())
        if component.getClassName() == "PositionEffector"
        and np.shape(component.effectorGoal.value)[-1] == 3
    ]


def _largest(differences: np.ndarray, directions: np.ndarray) -> float:
    """Return the largest length of differences (n, 3) along directions (k, 3), 0 of none."""
    along = differences @ directions.T
    return math.sqrt((along * along).sum(axis=1).max(initial=0.0))
