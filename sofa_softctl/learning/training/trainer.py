"""Train a policy, with checkpoints from which a training continues."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from sofa_softctl.base.files import replacing
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
    from sofa_softctl.learning.training.vector import Ended


@dataclass(frozen=True)
class CurvePoint:
    """One iteration."""

    steps: int
    """Decisions so far."""
    episodes: int
    """Episodes that ended in it."""
    mean: float
    """Their mean return; NaN without any."""
    deviation: float
    """Standard deviation of their returns."""
    length: float
    """Their mean number of decisions."""
    success: float
    """Share of them that were done; NaN where there is no such thing."""
    lost: float
    """Share of them in which the robot was lost."""
    seconds: float
    """Time of the training so far [s]."""


def save_curve(path: Path, points: list[CurvePoint]) -> None:
    """Write a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([field.name for field in fields(CurvePoint)])
    writer.writerows(astuple(point) for point in points)
    with replacing(path, PolicyError) as name:
        name.write_text(text.getvalue())


Progress = Callable[[CurvePoint], None]


@dataclass(frozen=True)
class Trained:
    """A policy and how it came about."""

    policy: Policy
    """The policy, without its noise."""
    curve: list[CurvePoint]
    """Of its training."""
    stopped: bool
    """Whether it was stopped before its end."""


def check_extra() -> None:
    """SoftctlError without stable-baselines3."""
    try:
        import stable_baselines3
    except ImportError as error:
        raise SoftctlError(
            f'Training needs the extra [rl] ({error}): pip install "sofa-softctl[rl]". The build '
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
) -> Trained:
    """Train by proximal policy optimisation of stable-baselines3.

    Args:
        vector: Environments that reset in the same step; closed at the end.
        interface: Of each.
        settings: Of the algorithm.
        name: Of the environment, for the files.
        out: File of the policy, beside which a checkpoint is kept after each iteration; None: no
            files.
        resume: Whether to go on from the checkpoint there.
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
        found = read_about(checkpoint)
        _check_same(checkpoint, found, about)
        begun, curve = int(found["steps"]), [CurvePoint(*each) for each in found["curve"]]
    elif checkpoint is not None:
        checkpoint.unlink(missing_ok=True)  # of a training that this one replaces
    adapter = VectorAdapter(vector, settings.seed + begun)
    try:
        model, wrapped = make_model(adapter, settings, begun)
        if resume and checkpoint is not None:
            load_checkpoint(checkpoint, model)
            wrapped.set_scale(found["scale"])
        start = perf_counter() - (curve[-1].seconds if curve else 0.0)
        stopped = False
        while model.num_timesteps < settings.steps and not stopped:
            model.iterate()
            curve.append(_point(model.num_timesteps, adapter.episodes, perf_counter() - start))
            adapter.episodes.clear()
            _check_finite(model, checkpoint)
            stopped = stop is not None and stop()
            if checkpoint is not None:
                values = {"steps": model.num_timesteps, "curve": list(map(astuple, curve))}
                save_checkpoint(checkpoint, model, about | values | {"scale": wrapped.scale()})
            if progress is not None:
                progress(curve[-1])
        steps, seed = str(model.num_timesteps), str(settings.seed)
        policy = policy_of(model, interface, {"environment": name, "steps": steps, "seed": seed})
        if out is not None:
            policy.save(out)
        return Trained(policy, curve, stopped and model.num_timesteps < settings.steps)
    finally:
        adapter.close()


def _check_same(path: Path, found: dict[str, Any], now: dict[str, Any]) -> None:
    before, after = dict(found["settings"]), dict(now["settings"])
    before.pop("steps"), after.pop("steps")  # a training may go on for longer
    other = [key for key in after if _as_json(before.get(key)) != _as_json(after[key])]
    if found["digest"] != now["digest"]:
        raise PolicyError(
            f"'{path}' is of a training in '{found['environment']}', whose observations, actions "
            f"or bounds are others than those of '{now['environment']}'."
        )
    if found["environment"] != now["environment"]:
        raise PolicyError(
            f"'{path}' is of a training in '{found['environment']}', and this is "
            f"'{now['environment']}'."
        )
    if other:
        named = ", ".join(f"{key} {before.get(key)}, now {after[key]}" for key in other)
        raise PolicyError(f"'{path}' is of a training with other settings: {named}.")


def _as_json(value: Any) -> Any:
    """A setting as JSON gives it back."""
    return list(value) if isinstance(value, tuple) else value


def _point(steps: int, episodes: list[Ended], seconds: float) -> CurvePoint:
    if not episodes:
        return CurvePoint(steps, 0, np.nan, np.nan, np.nan, np.nan, 0.0, seconds)
    totals = [one.total for one in episodes]
    known = [one.success for one in episodes if one.success is not None]
    return CurvePoint(
        steps,
        len(episodes),
        float(np.mean(totals)),
        float(np.std(totals)),
        float(np.mean([one.length for one in episodes])),
        float(np.mean(known)) if known else np.nan,
        float(np.mean([one.lost for one in episodes])),
        seconds,
    )


def _check_finite(model: Any, checkpoint: Path | None) -> None:
    import torch

    if all(bool(torch.isfinite(each).all()) for each in model.policy.parameters()):
        return
    kept = "" if checkpoint is None else f" The last checkpoint is kept: '{checkpoint}'."
    raise PolicyError(
        f"The weights of the policy became NaN after {model.num_timesteps} steps.{kept} Try a "
        "smaller learning rate, or rewards of the order of 1."
    )
