"""Training of a policy, with checkpoints for resuming."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from sofa_softctl.base.files import replace_atomically
from sofa_softctl.base.processes import defer_interrupts
from sofa_softctl.errors import PolicyError, SoftctlError
from sofa_softctl.learning.policy.policy import Policy
from sofa_softctl.learning.task.quantities import Interface
from sofa_softctl.learning.task.spaces import gymnasium
from sofa_softctl.learning.training.checkpoint import (
    checkpoint_of,
    load_checkpoint,
    read_about,
    save_checkpoint,
)
from sofa_softctl.learning.training.settings import Settings

if TYPE_CHECKING:
    from sofa_softctl.learning.training.vector import EndedEpisode


@dataclass(frozen=True)
class CurvePoint:
    """Statistics of one iteration."""

    steps: int
    """Number of decisions."""
    episodes: int
    """Number of episodes that ended in the iteration."""
    mean: float
    """Mean return of these episodes, or NaN."""
    deviation: float
    """Standard deviation of their returns."""
    length: float
    """Mean number of decisions of these episodes."""
    success: float
    """Fraction of successful episodes; NaN if the task does not define success."""
    lost: float
    """Fraction of episodes in which the robot was lost."""
    seconds: float
    """Time since the start of the training [s]."""


CURVE_COLUMNS = (
    *("decisions", "episodes", "mean return", "standard deviation of returns"),
    *("decisions an episode", "success [-]", "lost [-]", "time [s]"),
)
"""Columns of a learning curve as CSV, one for each field of a point."""


def save_curve(path: Path, points: list[CurvePoint]) -> None:
    """Write a CSV file, with the names and units of `CURVE_COLUMNS`."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(CURVE_COLUMNS)
    writer.writerows(astuple(point) for point in points)
    with replace_atomically(path, PolicyError) as name:
        name.write_text(text.getvalue())


Progress = Callable[[CurvePoint], None]


@dataclass(frozen=True)
class TrainingResult:
    """Policy with its learning curve."""

    policy: Policy
    """The policy, without its noise."""
    curve: list[CurvePoint]
    """Learning curve of its training."""
    stopped: bool
    """Whether the training was stopped before its end."""


def check_extra() -> None:
    """Raise SoftctlError if stable-baselines3 is missing."""
    try:
        import stable_baselines3
    except ImportError as error:
        from sofa_softctl.base.extras import install_command

        raise SoftctlError(
            f"Training needs the extra [rl] ({error}): {install_command('rl')}. The build "
            "of PyTorch for CPUs is a tenth of the usual one: see docs/how-to/learn-a-policy.md."
        ) from error
    del stable_baselines3


def train(
    vector: gymnasium.vector.VectorEnv,
    interface: Interface,
    settings: Settings,
    *,
    name: str = "",
    out: Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    stop: Callable[[], bool] | None = None,
) -> TrainingResult:
    """Train by proximal policy optimisation of stable-baselines3.

    Args:
        vector: Environments that reset in the same step; closed at the end.
        interface: Interface of each environment.
        settings: Settings of the algorithm.
        name: Name of the environment, for the files.
        out: File of the policy, saved after each iteration and at Ctrl-C in the first one; after
            each iteration also a checkpoint next to it. Default: no files.
        resume: Whether to resume from this checkpoint.
        progress: Called after each iteration.
        stop: Asked after each iteration whether to stop there.

    Raises:
        PolicyError: A checkpoint is missing, damaged or of another training; weights became NaN.
        WorkerError: A process with an environment was killed; the last checkpoint is kept.
        SoftctlError: stable-baselines3 is missing.
    """
    check_extra()
    from sofa_softctl.learning.training.ppo import make_model, policy_of
    from sofa_softctl.learning.training.vector import VectorAdapter

    checkpoint = None if out is None else checkpoint_of(out)
    curve: list[CurvePoint] = []
    about: dict[str, Any] = {
        "environment": name,
        "digest": interface.digest,
        "settings": settings.to_dict(),
    }
    begun = 0
    if resume:
        if checkpoint is None:
            raise PolicyError(
                "There is nothing to go on from: training keeps files with out= alone."
            )
        saved = read_about(checkpoint)
        _check_same(checkpoint, saved, about)
        begun, curve = (
            int(saved["steps"]),
            [CurvePoint(*values_of_point) for values_of_point in saved["curve"]],
        )
    elif checkpoint is not None:
        checkpoint.unlink(missing_ok=True)  # of a training that this one replaces
    adapter = VectorAdapter(vector, settings.seed + begun)
    try:
        model, wrapped = make_model(adapter, settings, begun)
        if resume and checkpoint is not None:
            load_checkpoint(checkpoint, model)
            wrapped.set_scale(saved["scale"])
        start = perf_counter() - (curve[-1].seconds if curve else 0.0)
        stopped = False

        def present_policy() -> Policy:
            about = {"environment": name, "steps": str(model.num_timesteps)}
            return policy_of(model, interface, about | {"seed": str(settings.seed)})

        while model.num_timesteps < settings.steps and not stopped:
            with _kept_at_interrupt(out, present_policy):
                model.iterate()
            curve.append(_point(model.num_timesteps, adapter.episodes, perf_counter() - start))
            adapter.episodes.clear()
            _check_finite(model, checkpoint)
            stopped = stop is not None and stop()
            if checkpoint is not None and out is not None:
                values = {"steps": model.num_timesteps, "curve": list(map(astuple, curve))}
                with defer_interrupts():  # both are of the same iteration
                    save_checkpoint(checkpoint, model, about | values | {"scale": wrapped.scale()})
                    present_policy().save(out)
            if progress is not None:
                progress(curve[-1])
        policy = present_policy()
        if out is not None:
            policy.save(out)
        return TrainingResult(policy, curve, stopped and model.num_timesteps < settings.steps)
    finally:
        adapter.close()


@contextmanager
def _kept_at_interrupt(out: Path | None, present_policy: Callable[[], Policy]) -> Iterator[None]:
    """Save the policy as it is if Ctrl-C ends the block and there is none of an iteration yet."""
    try:
        yield
    except KeyboardInterrupt:
        if out is not None and not out.exists():
            with defer_interrupts():
                present_policy().save(out)
        raise


def _check_same(path: Path, saved: dict[str, Any], current: dict[str, Any]) -> None:
    old, new = dict(saved["settings"]), dict(current["settings"])
    old.pop("steps"), new.pop("steps")  # a resumed training may be longer
    changed = [key for key in new if _as_json(old.get(key)) != _as_json(new[key])]
    if saved["digest"] != current["digest"]:
        raise PolicyError(
            f"'{path}' is of a training in '{saved['environment']}', whose observations, actions "
            f"or bounds are others than those of '{current['environment']}'."
        )
    if saved["environment"] != current["environment"]:
        raise PolicyError(
            f"'{path}' is of a training in '{saved['environment']}', and this is "
            f"'{current['environment']}'."
        )
    if changed:
        differences = ", ".join(f"{key} {old.get(key)}, now {new[key]}" for key in changed)
        raise PolicyError(f"'{path}' is of a training with other settings: {differences}.")


def _as_json(value: Any) -> Any:
    """Return a setting in the types of JSON."""
    return list(value) if isinstance(value, tuple) else value


def _point(steps: int, episodes: list[EndedEpisode], seconds: float) -> CurvePoint:
    if not episodes:
        return CurvePoint(steps, 0, np.nan, np.nan, np.nan, np.nan, 0.0, seconds)
    totals = [episode.total for episode in episodes]
    successes = [episode.success for episode in episodes if episode.success is not None]
    return CurvePoint(
        steps,
        len(episodes),
        float(np.mean(totals)),
        float(np.std(totals)),
        float(np.mean([episode.length for episode in episodes])),
        float(np.mean(successes)) if successes else np.nan,
        float(np.mean([episode.lost for episode in episodes])),
        seconds,
    )


def _check_finite(model: Any, checkpoint: Path | None) -> None:
    import torch

    if all(bool(torch.isfinite(parameter).all()) for parameter in model.policy.parameters()):
        return
    note = "" if checkpoint is None else f" The last checkpoint is kept: '{checkpoint}'."
    raise PolicyError(
        f"The weights of the policy became NaN after {model.num_timesteps} steps.{note} Try a "
        "smaller learning rate, or rewards of the order of 1."
    )
