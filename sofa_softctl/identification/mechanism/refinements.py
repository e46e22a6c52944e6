"""Finer discretisations of a mechanism: half the time step, and finer models of its problem."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.mechanism.model import MechanismModel
from sofa_softctl.identification.model.experiment import Experiment, Refinement
from sofa_softctl.identification.model.problem import Problem
from sofa_softctl.identification.model.recording import Recording

FINER_MODEL_COST = 8.0
"""Relative cost of a problem's finer model, which may also have a shorter step [-]."""


def refinements_of(problem: MechanismModel, recording: Recording) -> tuple[Refinement, ...]:
    """Return refinements; the midpoint rule has second order only with forces at both ends."""
    dt, order = 1e3 * problem.dt, 2 if problem.share == 0.5 else 1
    text = f"with a time step of {0.5 * dt:.4g} instead of {dt:.4g} ms"
    half_step = Refinement(
        "dt", "time step", text, partial(_with_half_step, problem, recording), order, 2.0
    )
    model_refinements = [
        Refinement(
            name,
            f"number of {name}",
            f"with more {name} ({finer.name})",
            partial(_with_model, problem, finer, recording),
            1,
            FINER_MODEL_COST,
        )  # fmt: skip
        for name, finer in problem.finer.items()
    ]
    return (half_step, *model_refinements)


def _with_half_step(problem: MechanismModel, recording: Recording) -> Experiment:
    dt, fed = 0.5 * problem.dt, problem.feedback
    if fed is not None and len(fed.gain) > 1:  # one gain a step
        steps = int(np.ceil(float(recording.time[-1] - recording.time[0]) / dt - 1e-6))
        fed = replace(fed, gain=np.ascontiguousarray(np.repeat(fed.gain, 2, axis=0)[:steps]))
    return replace(problem, dt=dt, feedback=fed).experiment(recording)


def _with_model(problem: MechanismModel, finer: Problem, recording: Recording) -> Experiment:
    """Return the finer model of the same recording.

    Raises:
        IdentificationError: The finer model has other parameters.
    """
    experiment = finer.experiment(recording)
    names, own_names = ([p.name for p in model.parameters] for model in (experiment, problem))
    if names != own_names:
        raise IdentificationError(
            f"The finer model '{finer.name}' of {recording.name} has the parameters "
            f"{', '.join(names)}. Expected those of the model itself: {', '.join(own_names)}."
        )
    return experiment
