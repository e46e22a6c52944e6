"""Scores of policies, and of a scene's own controller, in the episodes of a task."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sofa_softctl.errors import DivergedError, SceneError, SimulationError
from sofa_softctl.learning.task.episode import Episode, asking
from sofa_softctl.learning.task.scene_env import SceneEnv
from sofa_softctl.learning.task.spaces import gymnasium
from sofa_softctl.learning.task.task import answer_of, reward_of
from sofa_softctl.scene.session.session import Session


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


def score_baseline(
    env: SceneEnv,
    episodes: int,
    *,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Score:
    """Play the episodes of `score` with the controller that `Task.baseline` asks for.

    Starts and goals are those of the seeds; rewards are read as often as decisions were made. An
    episode that diverges ends there, without success.

    Raises:
        SceneError: The task has no baseline.
    """
    task = env.task
    if task.baseline is None:
        raise SceneError(
            "The task has no baseline: give Task(baseline=...), parameters of createScene with "
            "which the scene's own controller does an episode."
        )
    returns, lengths, successes = [], [], []
    for number in range(episodes):
        _, info = env.reset(seed=seed + number)
        with asking("baseline", env.episode):
            own = task.baseline(env.episode)
        given = {**task.parameters, **info["parameters"], **own}
        with Session(env.scene, backend="embedded", parameters=given) as session:
            episode = Episode(session.root, env.episode.random)
            episode.goal, episode.memory = deepcopy((env.episode.goal, env.episode.memory))
            total, ended = 0.0, False
            try:
                session.step(task.limits.settle)
                while not ended and episode.decisions < task.limits.decisions:
                    session.step(task.limits.hold)
                    episode.decisions += 1
                    total += reward_of(task, episode)
                    ended = answer_of("done", task.done, episode)
                done = answer_of("success", task.success, episode)
            except (DivergedError, SimulationError):
                done = False
        returns.append(total)
        lengths.append(episode.decisions)
        if task.success is not None:
            successes.append(done)
        if progress is not None:
            progress(number + 1)
    return Score(returns, lengths, successes)
