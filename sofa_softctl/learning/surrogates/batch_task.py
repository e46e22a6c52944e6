"""Tasks on surrogates: many robots at once, as rows of arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sofa_softctl.errors import SceneError
from sofa_softctl.learning.task.quantities import Interface


class Advanced(NamedTuple):
    """Robots after a decision."""

    state: np.ndarray
    """States of the robots, shape (m, k); a row that is not valid may hold anything."""
    valid: np.ndarray
    """Whether the surrogate could follow each, shape (m,): inside its range, and in balance."""


class BatchTask(ABC):
    """A task to learn on a surrogate: derive from it for your own robot.

    The state of a robot, with all that its episode needs (goal, time, last actions), is a
    row of an array, so that hundreds of robots take a step in one call. Episodes end after
    `decisions` decisions, where `done` says so, and where the surrogate cannot follow.
    """

    interface: Interface
    """Observations and actions of policies."""
    decisions: int
    """Number of decisions of an episode."""

    @abstractmethod
    def begin(self, random: np.random.Generator, count: int) -> np.ndarray:
        """States at the start of some episodes, shape (count, k)."""

    @abstractmethod
    def advance(self, state: np.ndarray, action: np.ndarray) -> Advanced:
        """Advance robots by one decision.

        Args:
            state: Robots, shape (m, k).
            action: Actions in units and within bounds, shape (m, n_a).
        """

    @abstractmethod
    def observe(self, state: np.ndarray) -> np.ndarray:
        """Return the observations of some robots, in units, shape (m, n_o)."""

    @abstractmethod
    def reward(self, before: np.ndarray, action: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Reward of a decision of each robot, shape (m,)."""

    def with_goal(self, state: np.ndarray, goal: Mapping[str, ArrayLike]) -> np.ndarray:
        """States that have just begun, with entries of the goal set, for `reset(options=...)`.

        Raises:
            SceneError: The task has no such entries.
        """
        del state
        raise SceneError(f"This task has no goal to be set. Got: {', '.join(goal)}")

    def done(self, state: np.ndarray) -> np.ndarray:
        """Return True for robots at the end of their task, done or failed, shape (m,)."""
        return np.zeros(len(state), bool)

    def success(self, state: np.ndarray) -> np.ndarray | None:
        """Return True for robots that have done their task, shape (m,); None if undefined."""
        del state
        return None

    def lost(self, state: np.ndarray) -> np.ndarray:
        """Return the reward of robots that the surrogate cannot follow after these states: 0.

        If rewards are mostly negative it must be as bad as what an episode has left, otherwise
        policies learn to get lost.
        """
        return np.zeros(len(state))
