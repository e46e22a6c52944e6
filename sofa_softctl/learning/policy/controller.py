"""A trained policy as the controller of a scene."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from sofa_softctl.learning.policy.policy import Policy
from sofa_softctl.learning.task.action import Actuation
from sofa_softctl.learning.task.episode import Episode
from sofa_softctl.learning.task.observation import Observer
from sofa_softctl.learning.task.quantities import Interface
from sofa_softctl.learning.task.task import Task, flag_of
from sofa_softctl.scene.control import options
from sofa_softctl.scene.control.controller import SceneController, pauses_on_error
from sofa_softctl.scene.control.report import History, Line, Markers, Report, Summary
from sofa_softctl.scene.control.units import declared_units

Goal = Mapping[str, ArrayLike | Callable[[float], ArrayLike]]


class PolicyController(SceneController):
    """Controller that drives the actuators of a scene by a policy.

    The policy sees the task's observations and decides each `limits.hold` steps, from the end of
    `limits.settle` on; its actuators keep to their limits and rates, as in training.

    Args:
        root: Root of the scene.
        policy: File of `softctl train`, or a Policy.
        task: Task that the policy was trained for, from the scene's LEARNING.
        goal: The task's goal, by name: numbers, or functions of time.
        name: Name of the controller.

    Data:
        action: Last requested value of each actuator [its unit].
        observation: Last observations [their units].
        goal: Points of the goal, if it has any, shape (n, 3) [length]: movies show them.

    Raises:
        PolicyError: The file cannot be read, or, at the first step, the policy is for another task
            or other limits.
        SceneError: An actuator or an observation is not in the scene.
    """

    def __init__(
        self,
        *,
        root: Any,
        policy: str | os.PathLike[str] | Policy,
        task: Task,
        goal: Goal | None = None,
        name: str = "policy",
    ) -> None:
        super().__init__(name=name, root=root)
        if not isinstance(task, Task):
            options.raise_invalid_option(self, "task", "a sofa_softctl.learning.Task", task)
        self.policy = policy if isinstance(policy, Policy) else Policy.load(policy)
        self.task, self.goal, self.units = task, dict(goal or {}), declared_units(root)
        self.actuation = Actuation(task.action, root, self.units)
        self.actuators = self.actuation.components
        self.episode = Episode(root)
        self.episode.action = self.actuation.applied.copy()
        self.observer: Observer | None = None
        self.steps, self.clipped = 0, 0
        interface = self.policy.interface
        self.recorded = {
            "action": ("", "Values that the policy requested"),
            "observation": ("", "Values that the policy observed"),
        }
        """Recorded Data, see `SceneController`."""
        self.add_output("action", np.zeros(len(interface.action)), "Requested values.")
        self.add_output("observation", np.zeros(len(interface.observation)), "Observed values.")
        points = _points(self._goal_at(0.0))
        if len(points):
            self.add_output("goal", points, "Points of the goal.")
            self.recorded["goal"] = ("length", "Points of the goal")

    @pauses_on_error
    def onAnimateBeginEvent(self, event: Any) -> None:
        """Decide if a decision is due, and move the actuators."""
        del event
        limits = self.task.limits
        if self.observer is None:
            self.keep(observer=self._connect())
        since = self.steps - limits.settle
        if since >= 0 and since % limits.hold == 0:
            self._decide()
        self.keep(steps=self.steps + 1)
        self.actuation.advance()

    def _decide(self) -> None:
        self.episode.goal.update(self._goal_at(self.episode.time))
        if "goal" in self.outputs:
            self.outputs["goal"].value = _points(self.episode.goal).tolist()
        assert self.observer is not None  # connected
        observation = self.observer()
        action = self.policy(observation)
        self.actuation.request(action)
        self.episode.action = self.actuation.asked.copy()
        self.episode.decisions += 1
        self.outputs["action"].value = action.tolist()
        self.outputs["observation"].value = observation.tolist()

    def _goal_at(self, time: float) -> dict[str, np.ndarray]:
        values = {
            name: entry_value(time) if callable(entry_value) else entry_value
            for name, entry_value in self.goal.items()
        }
        return {name: np.array(value, dtype=float) for name, value in values.items()}

    def _connect(self) -> Observer:
        """Return a reader of observations; PolicyError if the policy is for another interface."""
        self.episode.goal.update(self._goal_at(self.episode.time))
        observer = Observer(self.task.observation, self.episode, self.units)
        interval = self.task.limits.hold * float(self.dt.value)
        interface = Interface(observer.quantities, self.actuation.quantities, interval)
        self.policy.check_fits(interface, "this scene and task")
        return observer

    def reset(self) -> None:
        """Reset to the state before the first step."""
        self.keep(steps=0, failed=False)
        self.episode.begin(self.episode.random)
        self.actuation.reset()
        self.episode.action = self.actuation.applied.copy()

    def snapshot(self) -> dict[str, Any]:
        """Return the state that lasts from step to step."""
        action, applied = self.actuation.asked.copy(), self.actuation.applied.copy()
        return {"steps": self.steps, "asked": action, "applied": applied}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the state of `snapshot`."""
        self.keep(steps=snapshot["steps"])
        self.actuation.asked = snapshot["asked"].copy()
        self.actuation.applied = snapshot["applied"].copy()
        self.episode.action = self.actuation.asked.copy()

    @override
    def markers(self) -> Markers | None:
        if "goal" not in self.outputs:
            return None
        empty = np.zeros((0, 3))
        return Markers(np.array(self.outputs["goal"].value, dtype=float), empty, empty, empty)

    def hold(self) -> None:
        """Leave the actuators at the values of the previous step."""

    @override
    def about(self) -> dict[str, Any]:
        names = list(self.policy.interface.action.names)
        return {"actuators": names, "policy": dict(self.policy.about)}

    @override
    def summary(self, history: History) -> PolicySummary | None:
        del history
        if self.task.success is None or not self.episode.decisions:
            return None
        return PolicySummary(flag_of("success", self.task.success, self.episode))


def _points(goal: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the entries that are points, shape (n, 3)."""
    points = [value for value in goal.values() if value.ndim == 2 and value.shape[1] == 3]
    return np.vstack([np.zeros((0, 3)), *points])


@dataclass(frozen=True)
class PolicySummary(Summary):
    """Success of a policy's run."""

    success: bool
    """Whether the task is done, at the end of the run."""

    @override
    def report(self, units: dict[str, str]) -> Report:
        del units
        text = "The task is done." if self.success else "The task is not done."
        return Report(lines=[Line(text, "good" if self.success else "doubt")])
