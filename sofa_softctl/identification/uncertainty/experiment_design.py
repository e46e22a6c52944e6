"""Experiment design: D-optimal choice among candidate motions.

The paper leaves "algorithms to determine appropriate actions" to future work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.fitting.estimate import Estimate, as_fitted
from sofa_softctl.identification.fitting.reduced import reduced
from sofa_softctl.identification.fitting.residual import Fit, StackedResidual
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.uncertainty.identifiability import (
    deviations_of_interval,
    information,
)
from sofa_softctl.identification.uncertainty.validation import input_scores

IGNORANCE = 10.0
"""Deviation of the wide prior of each parameter, as multiple of its scale."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """Information that a motion would add."""

    name: str
    """Name of its recording."""
    gain: float
    """Information added: half of log det of covariances before over after, in nats [-].

    Negative: noise of its inputs would make the fit worse; -inf: the simulation failed.
    """
    half_widths: dict[str, float]
    """Expected half-width of the 95 % interval of each parameter afterwards [unit]."""
    half_widths_now: dict[str, float]
    """The same before [unit]."""
    reason: str = ""
    """Why the motion is not possible; empty: it is."""


def rank(
    estimate: Estimate, candidates: Sequence[Experiment], experiments: Sequence[Experiment] = ()
) -> tuple[Candidate, ...]:
    """Candidates by the information that they would add, most informative first.

    The gain is half of log det of the parameters' covariance before over after: the decrease in
    the log volume of their confidence ellipsoid. Covariances are those of the intervals,
    C + C M S M' C with noise of inputs, C the inverse of the information. Where these are taken as
    exact, samples are weighted by noise of outputs alone, and more data with noisy inputs can
    increase them: the gain is then negative. All parameters that the caller did not fix count,
    also unobservable ones, with a wide prior of 10 times their scales. All samples of a candidate
    count as measured; its motion is predicted with the estimate.

    Args:
        estimate: From the data so far.
        candidates: Experiments; their `measured` is not used.
        experiments: Those of the estimate, for the noise of their inputs; none: without it.
    """
    known = Known(estimate, experiments)
    return tuple(sorted((known.judge(one) for one in candidates), key=lambda one: -one.gain))


class Known:
    """Information on the parameters before a candidate is recorded.

    Args:
        estimate: From the data so far.
        experiments: Those of the estimate, for the noise of their inputs; none: without it.
    """

    def __init__(self, estimate: Estimate, experiments: Sequence[Experiment]) -> None:
        self.estimate = estimate
        self.counted = np.array([name not in estimate.fixed for name in estimate.names])
        self.names = np.array(estimate.names)[self.counted].tolist()
        scale = np.array([one.scale for one in estimate.parameters])
        self.scale = scale[self.counted]
        F = information(estimate) + np.diag(estimate.prior_information)
        self.F = self._of_counted(F + np.diag((IGNORANCE * scale) ** -2.0))
        self.scores = np.zeros_like(self.F)
        if experiments:
            misfit = StackedResidual(as_fitted(estimate, experiments), estimate.parameters)
            for k, (one, fit) in enumerate(zip(misfit.experiments, estimate.fits, strict=True)):
                self.scores += self._scores(one, fit, misfit.of(k, estimate.rho))
        self.reach = deviations_of_interval(estimate)
        self.covariance = self._covariance(self.F, self.scores)

    def own(self, experiment: Experiment) -> np.ndarray:
        """The parameters of an experiment at the estimate, in its order."""
        return StackedResidual([experiment], self.estimate.parameters).of(0, self.estimate.rho)

    def judge(
        self,
        experiment: Experiment,
        refused: Callable[[Sequence[Channel], np.ndarray], str] | None = None,
    ) -> Candidate:
        """The information that a motion would add.

        Args:
            experiment: The motion.
            refused: Returns from its channels and predicted outputs why they are not allowed, or
                an empty text.
        """
        now = self._half_widths(self.covariance)
        noise = {one.name: one.deviation for fit in self.estimate.fits for one in fit.channels}
        misfit = StackedResidual([experiment], self.estimate.parameters, deviations=noise)
        rho, unknown = misfit.of(0, self.estimate.rho), None
        try:
            if any(fit.unknowns for fit in self.estimate.fits):
                unknown = misfit.experiments[0].with_unknown_inputs(rho)
            if unknown is not None:
                misfit = StackedResidual([unknown], self.estimate.parameters, deviations=noise)
            (fit,) = misfit.fits(self.estimate.rho)
            if refused is not None and (why := refused(fit.channels, fit.outputs)):
                return Candidate(experiment.name, -np.inf, now, now, why)
            if unknown is None:
                fit = replace(fit, measured=np.zeros_like(fit.outputs))
            scores = self._scores(misfit.experiments[0], fit, rho)
        except SimulationError as error:
            return Candidate(experiment.name, -np.inf, now, now, str(error))
        J = reduced([fit])[1][:, self.counted]
        after = self._covariance(self.F + J.T @ J, self.scores + scores)
        gain = 0.5 * (self._log_det(self.covariance) - self._log_det(after))
        return Candidate(experiment.name, gain, self._half_widths(after), now)

    def _of_counted(self, F: np.ndarray) -> np.ndarray:
        return F[np.ix_(self.counted, self.counted)]

    def _scores(self, experiment: Experiment, fit: Fit, rho: np.ndarray) -> np.ndarray:
        return self._of_counted(input_scores(experiment, fit, rho, self.counted))

    def _covariance(self, F: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Covariance of the parameters [units], from noise of outputs and of inputs."""
        units = np.outer(self.scale, self.scale)
        C = np.linalg.inv(F * units) * units
        found: np.ndarray = C + C @ scores @ C
        return found

    def _log_det(self, C: np.ndarray) -> float:
        return float(np.linalg.slogdet(C / np.outer(self.scale, self.scale))[1])

    def _half_widths(self, C: np.ndarray) -> dict[str, float]:
        return dict(zip(self.names, (self.reach * np.sqrt(np.diag(C))).tolist(), strict=True))
