"""Gradients of experiments by their adjoint, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.experiment import Experiment, PulledBack


def left_out(experiments: Sequence[Experiment]) -> tuple[str, ...]:
    """Warnings on experiments with noisy inputs whose noise the intervals leave out."""
    return tuple(
        f"noise of the inputs of {one.name} is left out of the intervals, as {_no_adjoint(one)}"
        for one in experiments
        if any(channel.deviation for channel in one.inputs) and not one.has_adjoint
    )


def adjoint_gradient(
    experiment: Experiment, rho: np.ndarray, gradient: Callable[[np.ndarray], np.ndarray]
) -> PulledBack:
    """The checked result of an experiment's `pull_back`.

    Raises:
        IdentificationError: It has none, or it returns something else.
    """
    why = _no_adjoint(experiment)
    if experiment.has_adjoint:
        found = experiment.pull_back(rho, gradient)
        if isinstance(found, PulledBack):
            return found
        why = f"its pull_back returns {type(found).__name__}"
    raise IdentificationError(
        f"{experiment.name}: expected a method pull_back that returns PulledBack; {why}. See "
        "docs/how-to/identify-a-model.md#what-an-experiment-needs."
    )


def _no_adjoint(experiment: Experiment) -> str:
    """The missing method; where a class does not derive, it may be the second one."""
    has_sweep = "pull_back" in vars(experiment)  # of an adapter
    return f"it has no {'measured_by_inputs' if has_sweep else 'pull_back'}"
