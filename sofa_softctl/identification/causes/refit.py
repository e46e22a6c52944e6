"""Fits with one more parameter, from where the estimate without it ended.

A better fit of the same model, where a fit with a cause ended.

A search may end at a local minimum, far from the data. A fit with one more parameter can leave that
minimum, and takes the credit for what other parameters of the model do alone. So the model without
it is fitted once more, from where the fit with it ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.causes.cause import Cause
from sofa_softctl.identification.causes.extended import Extended, noise_of
from sofa_softctl.identification.causes.score import Score
from sofa_softctl.identification.fitting.estimate import Estimate, as_fitted
from sofa_softctl.identification.fitting.gauss_newton import SearchResult, search
from sofa_softctl.identification.fitting.joint_search import Lifted, approach
from sofa_softctl.identification.fitting.residual import StackedResidual
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import bounds

MOST = 15
"""Limit of evaluations of a search: ranks need no last digits."""


@dataclass(frozen=True, eq=False)
class Refit:
    """A fit with one more parameter."""

    found: SearchResult
    """End of its search."""
    place: int
    """Index of the parameter."""
    change: float
    """Its value less that of the model [its unit]."""
    deviation: float
    """Standard deviation of that, from noise of outputs [its unit]."""


def refit(extended: Extended, score: Score) -> Refit:
    """Fit the parameter with the others.

    The search begins where the linearised model predicts its end; where the model cannot be
    simulated there, at the estimate.

    Raises:
        SimulationError: The model cannot be simulated at either.
    """
    free = extended.free.copy()
    free[extended.place] = True
    ahead = extended.rho.copy()
    ahead[extended.place] += score.change
    slopes = score.slopes if not extended.added else np.append(score.slopes, 0.0)
    ahead -= slopes * score.change
    ahead = np.where(free, np.clip(ahead, *bounds(extended.misfit.parameters)), extended.rho)
    try:
        found = fitted(extended.misfit, ahead, free)
    except SimulationError:
        found = fitted(extended.misfit, extended.rho, free)
    change = float(found.rho[extended.place] - extended.rho[extended.place])
    return Refit(found, extended.place, change, _deviation(found, free, extended))


def fitted(misfit: StackedResidual, start: np.ndarray, free: np.ndarray) -> SearchResult:
    """A search, of unknown inputs too where there are any."""
    if any(isinstance(one, Lifted) for one in misfit.experiments):
        start, *_ = approach(misfit, start, free)
    return search(misfit, start, free, most=MOST)


def _deviation(found: SearchResult, free: np.ndarray, extended: Extended) -> float:
    assert found.information is not None
    scale = np.array([one.scale for one in extended.misfit.parameters])[free]
    F = found.information[np.ix_(free, free)] * np.outer(scale, scale)
    C = np.linalg.pinv(F, rcond=1e-14)
    at = int(np.flatnonzero(np.flatnonzero(free) == extended.place)[0])
    return float(scale[at] * np.sqrt(max(C[at, at], 0.0)))


SHARE = 0.5
"""A fit that reaches this share of a cause's decrease without it shows another minimum [-]."""

FAR = 3.0
"""Fits that leave more are no start to recommend [deviations]."""


@dataclass(frozen=True)
class Better:
    """Parameters with which the same model fits better than at the estimate."""

    parameters: dict[str, float]
    """Those that are fitted [units]."""
    rms: float
    """RMS residual with them [deviations]."""
    rms_before: float
    """RMS residual at the estimate [deviations]."""

    @property
    def sentence(self) -> str:
        """What was found, and how to go on."""
        starts = " ".join(f"--set-start {name}={at:.4g}" for name, at in self.parameters.items())
        advice = f"Start there: {starts}." if self.rms <= FAR else "Try --starts 8."
        return (
            f"The same model leaves {self.rms:.3g} deviations with other parameters, in place of "
            f"{self.rms_before:.3g}: the search ended at a local minimum. {advice}"
        )


def better_without(
    cause: Cause, estimate: Estimate, experiments: Sequence[Experiment]
) -> Better | None:
    """The fit without a cause from where the fit with it ended; None: it needs the cause.

    Args:
        cause: Of the estimate, with shifts of its parameters.
        estimate: Where the model fits worse.
        experiments: Those of the estimate, as they were given.
    """
    start = estimate.rho + [cause.shifts.get(name, 0.0) for name in estimate.names]
    misfit = StackedResidual(
        as_fitted(estimate, experiments), estimate.parameters, deviations=noise_of(estimate)
    )
    try:
        end = fitted(misfit, start, estimate.free)
    except SimulationError:
        return None  # it cannot be simulated there: not without the cause
    if estimate.cost - end.cost < SHARE * cause.decrease:
        return None
    free = np.flatnonzero(estimate.free).tolist()
    rms, before = (float(np.sqrt(cost / estimate.data)) for cost in (end.cost, estimate.cost))
    return Better({estimate.names[i]: float(end.rho[i]) for i in free}, rms, before)
