"""State of an episode that the functions of a task read."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError, SoftctlError
from sofa_softctl.learning.task.quantities import data_at


class Episode:
    """A scene in an episode: for `Observation.read`, rewards and ends.

    In a scene that a policy controls there is no random generator, and the goal is the scene's.
    """

    def __init__(self, root: Any, random: np.random.Generator | None = None) -> None:
        self.root = root
        """Root of the scene."""
        self.random = random if random is not None else np.random.default_rng()
        """Random numbers of the episode, seeded by `reset`."""
        self.goal: dict[str, np.ndarray] = {}
        """Values that the task sets at the start, for rewards and observations to read."""
        self.memory: dict[str, Any] = {}
        """Values that the task keeps from decision to decision; empty at the start."""
        self.action = np.zeros(0)
        """Last values of the actuators that were asked for, shape (n_a,)."""
        self.decisions = 0
        """Decisions so far."""
        self._data: dict[str, Any] = {}

    @property
    def time(self) -> float:
        """Simulated time of the scene [time]."""
        return float(self.root.time.value)

    def read(self, path: str) -> np.ndarray:
        """Value of a Data such as '/trunk/tip/dofs.position', a copy, as floats.

        Raises:
            SceneError: There is none.
        """
        if path not in self._data:
            self._data[path] = data_at(self.root, path)
        return np.array(self._data[path].value, dtype=float)

    def begin(self, random: np.random.Generator) -> None:
        """Forget the episode before."""
        self.random, self.decisions = random, 0
        self.goal, self.memory = {}, {}


@contextmanager
def asking(what: str, episode: Episode) -> Iterator[None]:
    """SceneError with the function, the decision and the line where it raises anything."""
    try:
        yield
    except SoftctlError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise SceneError(
            f"The task's {what}, after {episode.decisions} decisions: {type(error).__name__}: "
            f"{error} ({last.filename}:{last.lineno})"
        ) from error
