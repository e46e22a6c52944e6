"""Effectors of a QPInverseProblemSolver: how far from their goals they end."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.scene.body import body_size
from sofa_softctl.scene.watch.actuators import objects_of

STEPS_MIN = 50
"""Steps after which an effector is judged [-]."""
FAR_MIN = 0.05
"""Distance to a goal by the size of the body, from which on it is named [-]."""
AT_LIMIT = 1e-2
"""Difference from a limit by it, within which an actuator is at it [-]."""
LIMITS = (("force", "maxForce"), ("displacement", "maxPositiveDisp"))


class WatchedEffector:
    """A PositionEffector of points, and limits that actuators are at in every step."""

    def __init__(self, component: Any, root: Any) -> None:
        self._component = component
        self._state = component.getContext().getMechanicalState()
        self._size = body_size(component.getContext())
        self._farthest, self._steps = 0.0, 0
        actuators = [e for e in objects_of(root) if e.getClassName() == "CableActuator"]
        self._limits = {
            (entry, value, limit): 0
            for entry in actuators
            for value, limit in LIMITS
            if entry.findData(limit).isSet()
        }

    def _distance(self) -> float:
        """Distance to the goal along the directions that count [length]."""
        effector = self._component
        x = np.asarray(self._state.position.value)[np.asarray(effector.indices.value, dtype=int)]
        use = np.asarray(effector.useDirections.value, dtype=bool)[:3]
        directions = np.asarray(effector.directions.value, dtype=float)[: len(use), :3]
        goal = np.asarray(effector.effectorGoal.value, dtype=float)[: len(x), :3]
        parts = (x[: len(goal), :3] - goal) @ directions[use].T
        return float(np.linalg.norm(parts, axis=1).max(initial=0.0))

    def step(self) -> None:
        """Note the distance and the limits of a step."""
        self._steps += 1
        self._farthest = max(self._farthest, self._distance())
        for entry, value, limit in self._limits:
            most = float(entry.findData(limit).value)
            at = float(entry.findData(value).value) >= most - AT_LIMIT * abs(most)
            self._limits[entry, value, limit] += at

    def text(self) -> str:
        """Return a sentence if it ends far from its goal with actuators at limits, else ''."""
        distance = self._distance()
        if self._steps < STEPS_MIN or distance < max(FAR_MIN * self._size, 0.5 * self._farthest):
            return ""
        stuck = [
            f"{entry.getPathName()} at {limit}={float(entry.findData(limit).value):g} in {steps}"
            for (entry, _, limit), steps in self._limits.items()
            if 5 * steps > self._steps
        ]
        if not stuck:  # a goal out of reach, or one that is approached slowly, may be meant
            return ""
        return (
            f"{self._component.getClassName()} '{self._component.getPathName()}' ends "
            f"{distance:.3g} from its goal, and was at most {self._farthest:.3g} away. Of "
            f"{self._steps} steps, {', '.join(stuck[:3])}. Are these limits in another unit?"
        )


def watched_effectors(root: Any) -> list[WatchedEffector]:
    """Return watches on the effectors of points of a scene that a QPInverseProblemSolver leads."""
    entries = list(objects_of(root))
    if not any(entry.getClassName() == "QPInverseProblemSolver" for entry in entries):
        return []
    return [
        WatchedEffector(entry, root)
        for entry in entries
        if entry.getClassName() == "PositionEffector"
        and np.shape(entry.effectorGoal.value)[-1] == 3
    ]
