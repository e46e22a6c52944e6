"""Goal and memory of an episode as a row of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.learning.task.episode import Episode


class EpisodeNotes:
    """Converter of goal and memory of episodes with the same entries to rows.

    Args:
        episode: An episode after its start, with the entries of all episodes.

    Raises:
        SceneError: An entry is neither a number nor an array of numbers.
    """

    def __init__(self, episode: Episode) -> None:
        self._shapes = {key: _numbers(key, value).shape for key, value in _entries(episode)}
        self.size = sum(int(np.prod(shape)) for shape in self._shapes.values())
        """Number of values in a row."""

    def row(self, episode: Episode) -> np.ndarray:
        """Return goal and memory of an episode, shape (size,).

        Raises:
            SceneError: The episode has other entries.
        """
        values = {key: _numbers(key, value) for key, value in _entries(episode)}
        shapes = {key: value.shape for key, value in values.items()}
        if shapes != self._shapes:
            names = sorted(".".join(key) for key, _ in shapes.items() ^ self._shapes.items())
            raise SceneError(
                f"On a surrogate, goal and memory keep the entries that begin() gives them, with "
                f"their shapes. These differ: {', '.join(dict.fromkeys(names))}."
            )
        return np.concatenate([np.empty(0), *(values[key].ravel() for key in self._shapes)])

    def write(self, row: np.ndarray, episode: Episode) -> None:
        """Set the goal and memory of an episode from a row."""
        episode.goal, episode.memory = {}, {}
        start = 0
        for (kind, name), shape in self._shapes.items():
            end = start + int(np.prod(shape))
            value = row[start:end].reshape(shape).copy()
            if kind == "goal":
                episode.goal[name] = value
            else:
                episode.memory[name] = value if shape else float(value)
            start = end


def _entries(episode: Episode) -> list[tuple[tuple[str, str], Any]]:
    goal = [(("goal", name), value) for name, value in episode.goal.items()]
    return [*goal, *((("memory", name), value) for name, value in episode.memory.items())]


def _numbers(key: tuple[str, str], value: Any) -> np.ndarray:
    try:
        return np.array(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise SceneError(
            f"On a surrogate, {'.'.join(key)} must be a number or an array of numbers. Got: "
            f"{value!r}"
        ) from error
