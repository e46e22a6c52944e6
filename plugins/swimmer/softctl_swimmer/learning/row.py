"""The third row of the paper's Table I: learning to swim, on the map, scored on the flow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode

from sofa_softctl.learning import Policy, SurrogateEnv, SurrogateVectorEnv
from sofa_softctl.learning.measuring import score
from sofa_softctl.learning.training import Settings, train
from softctl_swimmer.learning.exact import NearbySolutions
from softctl_swimmer.learning.task import SwimTask
from softctl_swimmer.planning.study import Study
from softctl_swimmer.planning.table import Times

BUDGET = 197 * 16384
"""Decisions of a training: the paper's, 197 iterations of 16,384 calls of g."""
MEASURED_STEP_COUNT = 8
"""Number of steps whose errors are measured."""


class PaperRow(NamedTuple):
    """Third row of Table I of Jia, Pan, Manocha 2019, with numbers from its text."""

    corners: int = 1973
    fewer: float = 1638.0
    """Number of solutions without the map divided by the number with it [-]."""
    faster: float = 1590.0
    """Time without the map divided by the time with it [-]."""
    error: float = 5e-5
    """Relative error of a step [-]."""


@dataclass(frozen=True)
class Row:
    """Result of one training; the cost without the map is counted, not measured."""

    body: str
    """Key of `bodies.BODIES`."""
    seed: int
    """Seed of the random numbers."""
    vertices: int
    """Number of vertices of the skin."""
    corners: int
    """Solutions of the flow for the map."""
    f: float
    """Median time of one [s]."""
    f_slopes: float
    """Median time of one with its slopes by the angles [s]."""
    map_seconds: float
    """Time of the map: f times corners [s]."""
    train_seconds: float
    """Time of the training on the map [s]."""
    calls: int
    """Number of decisions (calls of g), each a solution of the flow without the map."""
    error: float
    """Largest relative error of a step, in position and angles [-]."""
    mean: float
    """Mean return from disturbed starts, on the map [cm]."""
    deviation: float
    """Standard deviation of the return over starts [cm]."""
    mapped: float
    """Mean return of the first of these starts on the map [cm]."""
    exact: float
    """Mean return of the same starts on the flow [cm]."""

    @property
    def fewer(self) -> float:
        """Number of solutions without the map divided by the number for the map [-]."""
        return self.calls / self.corners

    @property
    def faster(self) -> float:
        """Time of solutions with slopes without the map, relative to map and training [-]."""
        return self.calls * self.f_slopes / (self.map_seconds + self.train_seconds)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict, with the ratios and the paper's row."""
        ratios = {name: getattr(self, name) for name in ("fewer", "faster")}
        return asdict(self) | ratios | {"paper": PaperRow()._asdict()}


def measure(
    study: Study,
    times: Times,
    seed: int,
    *,
    steps: int = BUDGET,
    episodes: int = 50,
    exact_episodes: int = 1,
    out: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> tuple[Row, Policy]:
    """Train on the map, and score on the map and on the flow.

    Args:
        study: The body.
        times: Times of solutions of the body's flow.
        seed: Seed of the training.
        steps: Number of decisions; the paper's budget by default.
        episodes: Number of episodes of the score on the map.
        exact_episodes: Number of episodes of the score on the flow, which take minutes each.
        out: File of the policy, with checkpoints next to it.
        progress: Called with a line of text from time to time.
    """

    def report(text: str) -> None:
        if progress is not None:
            progress(f"{study.body}, seed {seed}: {text}")

    task = SwimTask(study)
    settings = settings_of(steps, seed)
    trained = train(
        SurrogateVectorEnv(task, settings.envs, autoreset_mode=AutoresetMode.SAME_STEP),
        task.interface,
        settings,
        name=f"swimmer {study.body}",
        out=out,
        progress=lambda point: report(f"{point.steps:,} decisions, {point.mean:.3g} cm"),
    )
    report("scores")
    first = 10_000  # seeds that no training had
    mapped = score(SurrogateEnv(task), trained.policy.shares, episodes, seed=first)
    masses = NearbySolutions(study.exact, study.dynamics.embedding.masses)
    real = SwimTask(study, masses)
    exact = score(
        SurrogateEnv(real),
        trained.policy.shares,
        exact_episodes,
        seed=first,
        progress=lambda number: report(f"{number} of {exact_episodes} episodes on the flow"),
    )
    row = Row(
        body=study.body,
        seed=seed,
        vertices=study.flow.vertex_count,
        corners=study.corners,
        f=times.f,
        f_slopes=times.f_slopes,
        map_seconds=times.f * study.corners,
        train_seconds=trained.curve[-1].seconds,
        calls=trained.curve[-1].steps,
        error=_error(task, real, trained.policy),
        mean=mapped.mean,
        deviation=mapped.deviation,
        mapped=float(np.mean(mapped.returns[:exact_episodes])),
        exact=exact.mean,
    )
    return row, trained.policy


def settings_of(steps: int, seed: int) -> Settings:
    """Return the settings of the training, chosen in advance: the paper's iterations.

    Late rewards count fully, since a stroke is rewarded when it is complete.
    """
    return Settings(
        steps=steps, seed=seed, spread=0.3, learning_rate=5e-4, discount=0.9995, trace=0.98
    )


def _error(task: SwimTask, real: SwimTask, policy: Policy) -> float:
    """Return the largest relative error of single steps along an episode."""
    state = task.begin(np.random.default_rng(0), 1)
    errors = []
    for k in range(task.decisions):
        action = policy(task.observe(state))
        after = task.advance(state, action)
        if not after.valid[0]:
            break
        if k % (task.decisions // MEASURED_STEP_COUNT) == 0:
            mapped, exact = (
                np.hstack((swimmers.position[0], swimmers.angles[0]))
                for end in (after.state, real.advance(state, action).state)
                for swimmers, _, _ in (task.from_state(end),)
            )
            errors.append(np.linalg.norm(mapped - exact) / np.linalg.norm(exact))
        state = after.state
    return float(max(errors))
