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
STEPS = 8
"""Steps whose errors are measured."""


class PaperRow(NamedTuple):
    """Third row of Table I of Jia, Pan, Manocha 2019, and what its text adds."""

    corners: int = 1973
    fewer: float = 1638.0
    """Solutions without the map over those with it [-]."""
    faster: float = 1590.0
    """Time without over time with it [-]."""
    error: float = 5e-5
    """Relative error of a step [-]."""


@dataclass(frozen=True)
class Row:
    """One training. What is without the map is counted, and not run."""

    body: str
    """Key of `bodies.BODIES`."""
    seed: int
    """Of its random numbers."""
    vertices: int
    """Of the skin."""
    corners: int
    """Solutions of the flow for the map."""
    f: float
    """Median time of one [s]."""
    f_slopes: float
    """Median time of one with its slopes by the angles [s]."""
    map_seconds: float
    """Time of the map: f times corners [s]."""
    train_seconds: float
    """Time of the training on it [s]."""
    calls: int
    """Decisions, calls of g: as many solutions of the flow without the map."""
    error: float
    """Largest relative error of a step: of place and angles over their size [-]."""
    mean: float
    """Mean return from disturbed starts, on the map [cm]."""
    deviation: float
    """Its standard deviation over starts [cm]."""
    mapped: float
    """Mean return of the first of these starts on the map [cm]..."""
    exact: float
    """... and on the flow [cm]."""

    @property
    def fewer(self) -> float:
        """Solutions without the map over those for it [-]."""
        return self.calls / self.corners

    @property
    def faster(self) -> float:
        """Their time, with slopes for the forces, over that of map and training [-]."""
        return self.calls * self.f_slopes / (self.map_seconds + self.train_seconds)

    def to_dict(self) -> dict[str, Any]:
        """For JSON, with the ratios, beside the paper's row."""
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
        times: Of its flow.
        seed: Of the training.
        steps: Decisions; the paper's budget by default.
        episodes: Of the score on the map.
        exact_episodes: Of that on the flow, which takes minutes each.
        out: File of the policy, with checkpoints beside it.
        progress: Called with a line of text now and then.
    """

    def say(text: str) -> None:
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
        progress=lambda point: say(f"{point.steps:,} decisions, {point.mean:.3g} cm"),
    )
    say("scores")
    first = 10_000  # seeds that no training had
    mapped = score(SurrogateEnv(task), trained.policy.shares, episodes, seed=first)
    masses = NearbySolutions(study.exact, study.dynamics.embedding.masses)
    real = SwimTask(study, masses)
    exact = score(
        SurrogateEnv(real),
        trained.policy.shares,
        exact_episodes,
        seed=first,
        progress=lambda number: say(f"{number} of {exact_episodes} episodes on the flow"),
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
    """Of the training, fixed beforehand: the paper's iterations.

    Rewards far ahead count fully, since a stroke pays when it is done.
    """
    return Settings(
        steps=steps, seed=seed, spread=0.3, learning_rate=5e-4, discount=0.9995, trace=0.98
    )


def _error(task: SwimTask, real: SwimTask, policy: Policy) -> float:
    """Largest relative error of single steps along an episode."""
    state = task.begin(np.random.default_rng(0), 1)
    errors = []
    for k in range(task.decisions):
        action = policy(task.observe(state))
        after = task.advance(state, action)
        if not after.valid[0]:
            break
        if k % (task.decisions // STEPS) == 0:
            mapped, exact = (
                np.hstack((swimmers.position[0], swimmers.angles[0]))
                for each in (after.state, real.advance(state, action).state)
                for swimmers, _, _ in (task.unpacked(each),)
            )
            errors.append(np.linalg.norm(mapped - exact) / np.linalg.norm(exact))
        state = after.state
    return float(max(errors))
