"""What a scene's own controller brings in the episodes of a task."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

from sofa_softctl.errors import DivergedError, SceneError, SimulationError
from sofa_softctl.learning.episode import Episode, asking
from sofa_softctl.learning.measuring.scores import Score
from sofa_softctl.learning.questions import answer_of, reward_of
from sofa_softctl.learning.scene_env import SceneEnv
from sofa_softctl.scene.session import Session


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
