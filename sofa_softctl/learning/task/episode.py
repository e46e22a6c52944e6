"""State of an episode that the functions of a task read."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError, SoftctlError
from sofa_softctl.scene.graph.nodes import data_at


class Episode:
    """Episode in a scene, which `Observation.read`, rewards and ends receive.

    If a policy controls a scene, there is no random generator, and the goal is the scene's.
    """

    def __init__(self, root: Any, random: np.random.Generator | None = None) -> None:
        self.root = root
        """Root of the scene."""
        self.random = random if random is not None else np.random.default_rng()
        """Random numbers of the episode, seeded by `reset`."""
        self.goal: dict[str, np.ndarray] = {}
        """Values that the task sets at the start, for rewards and observations."""
        self.memory: dict[str, Any] = {}
        """Values that the task keeps from decision to decision; empty at the start."""
        self.action = np.zeros(0)
        """Last requested values of the actuators, shape (n_a,)."""
        self.decisions = 0
        """Number of decisions."""
        self._data: dict[str, Any] = {}

    @property
    def time(self) -> float:
        """Simulated time of the scene [time]."""
        return float(self.root.time.value)

    def read(self, path: str) -> np.ndarray:
        """Return a copy of a Data such as '/trunk/tip/dofs.position', as floats.

        Raises:
            SceneError: The Data is missing.
        """
        if path not in self._data:
            self._data[path] = data_at(self.root, path)
        return np.array(self._data[path].value, dtype=float)

    def begin(self, random: np.random.Generator) -> None:
        """Reset the episode."""
        self.random, self.decisions = random, 0
        self.goal, self.memory = {}, {}


@contextmanager
def annotate_errors(label: str, episode: Episode) -> Iterator[None]:
    """Raise a SceneError with function, decision and line for errors in the block."""
    try:
        yield
    except SoftctlError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise SceneError(
            f"The task's {label}, after {episode.decisions} decisions: {type(error).__name__}: "
            f"{error} ({last.filename}:{last.lineno})"
        ) from error
