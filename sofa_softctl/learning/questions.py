"""What a task's functions are asked, with errors that name them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.learning.episode import Episode, asking
from sofa_softctl.learning.task import Task


def begin(task: Task, episode: Episode) -> None:
    """Let a task begin an episode."""
    if task.begin is not None:
        with asking("begin", episode):
            task.begin(episode)


def reward_of(task: Task, episode: Episode) -> float:
    """Reward of the last decision; it may be NaN or infinite.

    Raises:
        SceneError: It is no number.
    """
    with asking("reward", episode):
        value = task.reward(episode)
    if value is None or np.ndim(value) != 0 or isinstance(value, str):
        raise SceneError(f"The task's reward must be a number. Got: {value!r}")
    return float(value)


def answer_of(what: str, question: Callable[[Episode], bool] | None, episode: Episode) -> bool:
    """Answer of a task's `done` or `success`; no where there is no such function.

    Raises:
        SceneError: It is neither yes nor no.
    """
    if question is None:
        return False
    with asking(what, episode):
        value = question(episode)
    if not isinstance(value, (bool, np.bool_)):
        raise SceneError(f"The task's {what} must be True or False. Got: {value!r}")
    return bool(value)
