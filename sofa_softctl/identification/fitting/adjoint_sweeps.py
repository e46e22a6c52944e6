"""Adjoint sweeps of experiments: which have one, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.delay import Delayed
from sofa_softctl.identification.experiment import Experiment, PulledBack


def left_out(experiments: Sequence[Experiment]) -> tuple[str, ...]:
    """Sentences on experiments whose noise of inputs cannot be carried to the parameters."""
    return tuple(
        f"noise of the inputs of {one.name} is left out of the intervals, as {why}"
        for one in experiments
        if any(channel.deviation for channel in one.inputs) and (why := why_no_sweep(one))
    )


def why_no_sweep(experiment: Experiment) -> str:
    """Why an experiment has no adjoint sweep; empty: it has one."""
    while isinstance(experiment, Delayed):
        experiment = experiment.experiment
    for name in ("pull_back", "measured_by_inputs"):
        if not callable(getattr(experiment, name, None)):
            return f"it has no {name}"
    return ""


def adjoint_gradient(
    experiment: Experiment, rho: np.ndarray, gradient: Callable[[np.ndarray], np.ndarray]
) -> PulledBack:
    """What an experiment's pull_back gives.

    Raises:
        IdentificationError: It has none, or it gives something else.
    """
    why = why_no_sweep(experiment)
    if not why:
        found = experiment.pull_back(rho, gradient)
        if isinstance(found, PulledBack):
            return found
        why = f"its pull_back gives {type(found).__name__}"
    raise IdentificationError(
        f"{experiment.name}: expected methods pull_back, which gives PulledBack, and "
        f"measured_by_inputs; {why}. See "
        "docs/how-to/identify-a-model.md#what-an-experiment-needs."
    )
