"""Tasks on surrogates: many robots simultaneously, as rows of arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sofa_softctl.errors import SceneError
from sofa_softctl.learning.task.quantities import Interface


class DecisionResult(NamedTuple):
    """Robots after a decision."""

    state: np.ndarray
    """States of the robots, shape (m, k); a row that is not valid may hold anything."""
    valid: np.ndarray
    """True for robots inside the surrogate's range, and in equilibrium, shape (m,)."""


class BatchTask(ABC):
    """Base class of learning tasks on a surrogate.

    The state of a robot, with all that its episode needs (goal, time, last actions), is a
    row of an array, so that hundreds of robots take a step in one call. Episodes end after
    `decisions` decisions, if `done` is True, and if the surrogate cannot follow.
    """

    interface: Interface
    """Observations and actions of policies."""
    decisions: int
    """Number of decisions of an episode."""

    @abstractmethod
    def begin(self, random: np.random.Generator, count: int) -> np.ndarray:
        """Return states at the start of some episodes, shape (count, k)."""

    @abstractmethod
    def advance(self, state: np.ndarray, action: np.ndarray) -> DecisionResult:
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
        """Return the reward of a decision of each robot, shape (m,)."""

    def with_goal(self, state: np.ndarray, goal: Mapping[str, ArrayLike]) -> np.ndarray:
        """Return states at the start of episodes with a goal, for `reset(options=...)`.

        Raises:
            SceneError: The task does not have these entries.
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

    def lost_reward(self, state: np.ndarray) -> np.ndarray:
        """Return the reward of robots that the surrogate cannot follow after these states: 0.

        If rewards are mostly negative, it must be as bad as the rest of an episode, otherwise
        policies learn to get lost.
        """
        return np.zeros(len(state))
