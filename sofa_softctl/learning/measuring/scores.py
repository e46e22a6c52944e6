"""Scores of policies: what they bring, without the noise of training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sofa_softctl.learning.gym import gymnasium


@dataclass(frozen=True)
class Score:
    """Of some episodes."""

    returns: list[float]
    """Of each episode."""
    lengths: list[int]
    """Decisions of each."""
    successes: list[bool]
    """Whether each was done; empty where there is no such thing."""

    @property
    def mean(self) -> float:
        """Mean return."""
        return float(np.mean(self.returns))

    @property
    def deviation(self) -> float:
        """Standard deviation of returns."""
        return float(np.std(self.returns))

    @property
    def success(self) -> float | None:
        """Share of episodes that were done."""
        return float(np.mean(self.successes)) if self.successes else None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        own = {"mean": self.mean, "deviation": self.deviation, "success": self.success}
        return asdict(self) | own


def score(
    env: gymnasium.Env,
    act: Callable[[np.ndarray], np.ndarray],
    episodes: int,
    *,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Score:
    """Play episodes with seeds one after another, from `seed` on.

    Args:
        env: The environment.
        act: Observation to action, members of its spaces: `Policy.shares` where they are scaled.
        episodes: How many.
        seed: Of the first.
        progress: Called after each with their number.
    """
    returns, lengths, successes = [], [], []
    for number in range(episodes):
        seen, _ = env.reset(seed=seed + number)
        total, length, ended = 0.0, 0, False
        while not ended:
            seen, reward, done, cut, info = env.step(act(seen).astype(np.float32))
            total, length, ended = total + float(reward), length + 1, done or cut
        returns.append(total)
        lengths.append(length)
        if "success" in info:
            successes.append(bool(info["success"]))
        if progress is not None:
            progress(number + 1)
    return Score(returns, lengths, successes)
