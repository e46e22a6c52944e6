"""Finer discretisations of a mechanism: half the time step, and finer models of its problem."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.model.experiment import Experiment, Refinement
from sofa_softctl.identification.model.problem import Problem

if TYPE_CHECKING:
    from sofa_softctl.identification.mechanism.experiment import MechanismExperiment

FINER_MODEL_COST = 8.0
"""Relative cost of a problem's finer model, which may also have a shorter step [-]."""


def refinements_of(experiment: MechanismExperiment) -> tuple[Refinement, ...]:
    """Return refinements; the midpoint rule has second order only with forces at both ends."""
    problem = experiment.problem
    dt, order = 1e3 * problem.dt, 2 if problem.share == 0.5 else 1
    text = f"with a time step of {0.5 * dt:.4g} instead of {dt:.4g} ms"
    half_step = Refinement(
        "dt", "time step", text, partial(_with_half_step, experiment), order, 2.0
    )
    model_refinements = [
        Refinement(
            name,
            f"number of {name}",
            f"with more {name} ({finer.name})",
            partial(_with, experiment, finer),
            1,
            FINER_MODEL_COST,
        )  # fmt: skip
        for name, finer in problem.finer.items()
    ]
    return (half_step, *model_refinements)


def _with_half_step(experiment: MechanismExperiment) -> MechanismExperiment:
    problem, fed = experiment.problem, experiment.problem.feedback
    if fed is not None and len(fed.gain) > 1:  # one gain a step
        gain = np.repeat(fed.gain, 2, axis=0)
        fed = replace(fed, gain=np.ascontiguousarray(gain[: _steps(experiment, 0.5 * problem.dt)]))
    finer = replace(problem, dt=0.5 * problem.dt, feedback=fed)
    return type(experiment)(finer, experiment.recording)


def _steps(experiment: MechanismExperiment, dt: float) -> int:
    duration = float(experiment.time[-1] - experiment.time[0])
    return int(np.ceil(duration / dt - 1e-6))


def _with(experiment: MechanismExperiment, finer: Problem) -> Experiment:
    """Return the finer model of the same recording.

    Raises:
        IdentificationError: The finer model has other parameters.
    """
    finer_experiment = finer.experiment(experiment.recording)
    names, own_names = (
        [p.name for p in model.parameters] for model in (finer_experiment, experiment)
    )
    if names != own_names:
        raise IdentificationError(
            f"The finer model '{finer.name}' of {experiment.name} has the parameters "
            f"{', '.join(names)}. Expected those of the model itself: {', '.join(own_names)}."
        )
    return finer_experiment
