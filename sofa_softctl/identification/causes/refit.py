"""Fits with one more parameter, from the estimate without it.

A search may end at a local minimum, far from the data. A fit with one more parameter can leave that
minimum, although other parameters of the model would suffice. So the model without the parameter is
fitted again, from the result of the fit with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.causes.cause import Cause
from sofa_softctl.identification.causes.extended import ExtendedEstimate, noise_of
from sofa_softctl.identification.causes.score import Score
from sofa_softctl.identification.fitting.estimate import Estimate, as_fitted
from sofa_softctl.identification.fitting.gauss_newton import SearchResult, search
from sofa_softctl.identification.fitting.joint_search import JointExperiment, approach
from sofa_softctl.identification.fitting.residual import StackedResidual
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import bounds


@dataclass(frozen=True, eq=False)
class Refit:
    """Result of a fit with one more parameter."""

    found: SearchResult
    """Result of the search."""
    place: int
    """Index of the parameter."""
    change: float
    """Change of the parameter from the value in the model [unit of the parameter]."""
    deviation: float
    """Standard deviation of `change`, from noise of outputs [unit of the parameter]."""


def refit(extended: ExtendedEstimate, score: Score) -> Refit:
    """Fit the parameter with the others.

    The search begins at the minimum of the linearised model, or at the estimate if the model cannot
    be simulated there.

    Raises:
        SimulationError: The model cannot be simulated at either.
    """
    free = extended.free.copy()
    free[extended.place] = True
    predicted = extended.rho.copy()
    predicted[extended.place] += score.change
    slopes = score.slopes if not extended.added else np.append(score.slopes, 0.0)
    predicted -= slopes * score.change
    predicted = np.where(
        free, np.clip(predicted, *bounds(extended.misfit.parameters)), extended.rho
    )
    try:
        result = search_with_inputs(extended.misfit, predicted, free)
    except SimulationError:
        result = search_with_inputs(extended.misfit, extended.rho, free)
    change = float(result.rho[extended.place] - extended.rho[extended.place])
    return Refit(result, extended.place, change, _deviation(result, free, extended))


def search_with_inputs(
    misfit: StackedResidual, start: np.ndarray, free: np.ndarray
) -> SearchResult:
    """Search for parameters, and for unknown inputs if there are any."""
    if any(isinstance(experiment, JointExperiment) for experiment in misfit.experiments):
        start, *_ = approach(misfit, start, free)
    return search(misfit, start, free, evaluations_max=15)  # ranks do not need the last digits


def _deviation(result: SearchResult, free: np.ndarray, extended: ExtendedEstimate) -> float:
    assert result.information is not None
    scale = np.array([parameter.scale for parameter in extended.misfit.parameters])[free]
    F = result.information[np.ix_(free, free)] * np.outer(scale, scale)
    C = np.linalg.pinv(F, rcond=1e-14)
    position = int(np.flatnonzero(np.flatnonzero(free) == extended.place)[0])
    return float(scale[position] * np.sqrt(max(C[position, position], 0.0)))


@dataclass(frozen=True)
class BetterMinimum:
    """Parameters with which the same model fits better than at the estimate."""

    parameters: dict[str, float]
    """Values of the fitted parameters [units]."""
    rms: float
    """RMS residual with these parameters [deviations]."""
    rms_before: float
    """RMS residual at the estimate [deviations]."""

    @property
    def sentence(self) -> str:
        """Sentence on the better fit, with a recommendation."""
        starts = " ".join(f"--set-start {name}={at:.4g}" for name, at in self.parameters.items())
        advice = f"Start there: {starts}." if self.rms <= 3.0 else "Try --starts 8."
        return (
            f"The same model leaves {self.rms:.3g} deviations with other parameters, in place of "
            f"{self.rms_before:.3g}: the search ended at a local minimum. {advice}"
        )


def better_without(
    cause: Cause, estimate: Estimate, experiments: Sequence[Experiment]
) -> BetterMinimum | None:
    """Fit the model without a cause from the result with it; None if it does not fit better.

    Args:
        cause: Cause with the shifts of the parameters.
        estimate: Estimate without the cause.
        experiments: Experiments as they were given to the estimate.
    """
    start = estimate.rho + [cause.shifts.get(name, 0.0) for name in estimate.names]
    misfit = StackedResidual(
        as_fitted(estimate, experiments), estimate.parameters, deviations=noise_of(estimate)
    )
    try:
        end = search_with_inputs(misfit, start, estimate.free)
    except SimulationError:
        return None
    if estimate.cost - end.cost < 0.5 * cause.decrease:  # it needs the cause
        return None
    free = np.flatnonzero(estimate.free).tolist()
    rms, before = (float(np.sqrt(cost / estimate.data)) for cost in (end.cost, estimate.cost))
    return BetterMinimum({estimate.names[i]: float(end.rho[i]) for i in free}, rms, before)
