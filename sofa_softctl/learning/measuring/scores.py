"""Scores of policies, and of a scene's own controller, in the episodes of a task."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sofa_softctl.errors import DivergedError, SceneError, SimulationError
from sofa_softctl.learning.task.episode import Episode, annotate_errors
from sofa_softctl.learning.task.scene_env import SceneEnv
from sofa_softctl.learning.task.spaces import gymnasium
from sofa_softctl.learning.task.task import flag_of, reward_of
from sofa_softctl.scene.session.session import Session


@dataclass(frozen=True)
class Score:
    """Score of some episodes."""

    returns: list[float]
    """Return of each episode."""
    lengths: list[int]
    """Number of decisions of each episode."""
    successes: list[bool]
    """Success of each episode, or [] if the task does not define it."""

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
        """Fraction of successful episodes [-]."""
        return float(np.mean(self.successes)) if self.successes else None

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        statistics = {"mean": self.mean, "deviation": self.deviation, "success": self.success}
        return asdict(self) | statistics


def score(
    env: gymnasium.Env,
    act: Callable[[np.ndarray], np.ndarray],
    episodes: int,
    *,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Score:
    """Play episodes with successive seeds.

    Args:
        env: The environment.
        act: Function of an observation that returns an action, such as `Policy.shares` if scaled.
        episodes: Number of episodes.
        seed: Seed of the first episode.
        progress: Called after each episode with the number of episodes.
    """
    returns, lengths, successes = [], [], []
    for number in range(episodes):
        observation, _ = env.reset(seed=seed + number)
        total, length, ended = 0.0, 0, False
        while not ended:
            observation, reward, terminated, truncated, info = env.step(
                act(observation).astype(np.float32)
            )
            total, length, ended = total + float(reward), length + 1, terminated or truncated
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

    Starts and goals are drawn from the same seeds; rewards are read once per decision. An episode
    that diverges ends there, without success.

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
        with annotate_errors("baseline", env.episode):
            baseline = task.baseline(env.episode)
        parameters = {**task.parameters, **info["parameters"], **baseline}
        with Session(env.scene, backend="embedded", parameters=parameters) as session:
            episode = Episode(session.root, env.episode.random)
            episode.goal, episode.memory = deepcopy((env.episode.goal, env.episode.memory))
            total, ended = 0.0, False
            try:
                session.step(task.limits.settle)
                while not ended and episode.decisions < task.limits.decisions:
                    session.step(task.limits.hold)
                    episode.decisions += 1
                    total += reward_of(task, episode)
                    ended = flag_of("done", task.done, episode)
                is_success = flag_of("success", task.success, episode)
            except (DivergedError, SimulationError):
                is_success = False
        returns.append(total)
        lengths.append(episode.decisions)
        if task.success is not None:
            successes.append(is_success)
        if progress is not None:
            progress(number + 1)
    return Score(returns, lengths, successes)
