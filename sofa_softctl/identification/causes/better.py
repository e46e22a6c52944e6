"""A better fit of the same model, where a fit with a cause ended.

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
from sofa_softctl.identification.causes.extended import noise_of
from sofa_softctl.identification.causes.refit import fitted
from sofa_softctl.identification.experiment import Experiment
from sofa_softctl.identification.fitting.estimate import Estimate, as_fitted
from sofa_softctl.identification.fitting.residual import StackedResidual

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
