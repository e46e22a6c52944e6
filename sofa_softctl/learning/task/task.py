"""Learning task in a scene, and calls of its functions, with errors that name them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.learning.task.action import Action
from sofa_softctl.learning.task.episode import Episode, annotate_errors
from sofa_softctl.learning.task.observation import Observation

TIME_LIMIT = "time limit"
"""`info["truncation"]` of an episode whose decisions are used up."""


@dataclass(frozen=True)
class Limits:
    """Durations of an episode, and the treatment of actions out of bounds."""

    decisions: int = 200
    """Number of decisions after which an episode is truncated."""
    hold: int = 1
    """Steps of the scene from one decision to the next."""
    settle: int = 0
    """Steps of the scene before the first episode, which all episodes begin with."""
    out_of_bounds: str = "clip"
    """Treatment of actions out of bounds: 'clip' (and count) or 'refuse'."""

    def __post_init__(self) -> None:
        if self.decisions < 1 or self.hold < 1 or self.settle < 0:
            raise ValueError(
                "decisions and hold must be 1 at least, settle 0. Got: "
                f"{self.decisions}, {self.hold}, {self.settle}"
            )
        if self.out_of_bounds not in ("clip", "refuse"):
            raise ValueError(f"out_of_bounds is 'clip' or 'refuse'. Got: '{self.out_of_bounds}'")


@dataclass(frozen=True)
class Task:
    """A task of a scene, from the dictionary LEARNING of its file, or for `SceneEnv`."""

    observation: Sequence[Observation]
    """Observations of the policy."""
    action: Sequence[Action]
    """Actions of the policy."""
    reward: Callable[[Episode], float]
    """Reward of a decision, called after its steps."""
    limits: Limits = field(default_factory=Limits)
    """Durations of an episode, and the treatment of actions out of bounds."""
    begin: Callable[[Episode], None] | None = None
    """Called at the start of each episode, to draw a goal."""
    done: Callable[[Episode], bool] | None = None
    """Whether the task is at its end, done or failed, after a decision."""
    success: Callable[[Episode], bool] | None = None
    """Whether the task is done, if defined; in the last `info` of an episode."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of createScene, such as those that leave a controller out."""
    randomize: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Ranges (low, high) of parameters of createScene that each episode draws, with a new scene."""
    baseline: Callable[[Episode], Mapping[str, Any]] | None = None
    """Parameters of createScene, besides drawn ones, with which the scene's controller does an
    episode that has begun; for `softctl score --baseline`."""


def begin(task: Task, episode: Episode) -> None:
    """Begin an episode of a task."""
    if task.begin is not None:
        with annotate_errors("begin", episode):
            task.begin(episode)


def reward_of(task: Task, episode: Episode) -> float:
    """Return the reward of the last decision; it may be NaN or infinite.

    Raises:
        SceneError: The reward is not a number.
    """
    with annotate_errors("reward", episode):
        value = task.reward(episode)
    if value is None or np.ndim(value) != 0 or isinstance(value, str):
        raise SceneError(f"The task's reward must be a number. Got: {value!r}")
    return float(value)


def flag_of(label: str, function: Callable[[Episode], bool] | None, episode: Episode) -> bool:
    """Return the value of a task's `done` or `success`, or False without such a function.

    Raises:
        SceneError: The value is not a boolean.
    """
    if function is None:
        return False
    with annotate_errors(label, episode):
        value = function(episode)
    if not isinstance(value, (bool, np.bool_)):
        raise SceneError(f"The task's {label} must be True or False. Got: {value!r}")
    return bool(value)
