"""Experiment design: D-optimal choice among candidate motions.

The gain of a motion is half of log det of the parameters' covariance before over after: the
decrease in the log volume of their confidence ellipsoid. Covariances are those of the intervals,
C + C M S M' C with noise of inputs, C the inverse of the information. With such noise further data
can increase the covariance, since samples are weighted only by noise of outputs: the gain is then
negative. The paper leaves "algorithms to determine appropriate actions" to future work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.fitting.estimate import Estimate, as_fitted
from sofa_softctl.identification.fitting.reduced import reduce_by_qr
from sofa_softctl.identification.fitting.residual import Fit, StackedResidual
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.uncertainty.identifiability import (
    deviations_of_interval,
    information,
)
from sofa_softctl.identification.uncertainty.validation import input_scores


@dataclass(frozen=True, eq=False)
class Candidate:
    """Information that a motion would add."""

    name: str
    """Name of the recording."""
    gain: float
    """Information added: half of log det of covariances before over after [nats].

    Negative if noise of inputs would make the fit worse, -inf if the simulation failed.
    """
    half_widths: dict[str, float]
    """Expected half-width of the 95 % interval of each parameter afterwards [unit]."""
    half_widths_now: dict[str, float]
    """Half-width of the 95 % interval of each parameter before [unit]."""
    reason: str = ""
    """Reason why the motion is not possible, or ""."""


def rank(
    estimate: Estimate, candidates: Sequence[Experiment], experiments: Sequence[Experiment] = ()
) -> tuple[Candidate, ...]:
    """Rank candidates by the information that they would add, most informative first.

    All parameters that the caller did not fix count, also unobservable ones, with a wide prior of
    10 times their scales. All samples of a candidate count as measured; its motion is predicted
    with the estimate.

    Args:
        estimate: Estimate from the recorded data.
        candidates: Experiments; their `measured` is not used.
        experiments: Experiments of the estimate, for the noise of their inputs; () neglects it.
    """
    prior = PriorInformation(estimate, experiments)
    return tuple(
        sorted(
            (prior.judge(candidate) for candidate in candidates),
            key=lambda candidate: -candidate.gain,
        )
    )


class PriorInformation:
    """Information on the parameters before a candidate is recorded.

    Args:
        estimate: Estimate from the recorded data.
        experiments: Experiments of the estimate, for the noise of their inputs; () neglects it.
    """

    def __init__(self, estimate: Estimate, experiments: Sequence[Experiment]) -> None:
        self.estimate = estimate
        self.counted = np.array([name not in estimate.fixed for name in estimate.names])
        self.names = np.array(estimate.names)[self.counted].tolist()
        scale = np.array([parameter.scale for parameter in estimate.parameters])
        self.scale = scale[self.counted]
        F = information(estimate) + np.diag(estimate.prior_information)
        self.F = self._of_counted(F + np.diag((10.0 * scale) ** -2.0))  # a wide prior
        self.scores = np.zeros_like(self.F)
        if experiments:
            misfit = StackedResidual(as_fitted(estimate, experiments), estimate.parameters)
            for k, (experiment, fit) in enumerate(
                zip(misfit.experiments, estimate.fits, strict=True)
            ):
                self.scores += self._scores(
                    experiment, fit, misfit.experiment_parameters(k, estimate.rho)
                )
        self.reach = deviations_of_interval(estimate)
        self.covariance = self._covariance(self.F, self.scores)

    def parameters_of(self, experiment: Experiment) -> np.ndarray:
        """Return the estimated parameters of an experiment, in its order."""
        return StackedResidual([experiment], self.estimate.parameters).experiment_parameters(
            0, self.estimate.rho
        )

    def judge(
        self,
        experiment: Experiment,
        find_reason: Callable[[Sequence[Channel], np.ndarray], str] | None = None,
    ) -> Candidate:
        """Compute the information that a motion would add.

        Args:
            experiment: Motion to be recorded.
            find_reason: Returns, from its channels and predicted outputs, the reason why they are
                not allowed, or "".
        """
        half_widths = self._half_widths(self.covariance)
        noise = {
            channel.name: channel.deviation
            for fit in self.estimate.fits
            for channel in fit.channels
        }
        misfit = StackedResidual([experiment], self.estimate.parameters, deviations=noise)
        rho, with_unknowns = misfit.experiment_parameters(0, self.estimate.rho), None
        try:
            if any(fit.unknowns for fit in self.estimate.fits):
                with_unknowns = misfit.experiments[0].with_unknown_inputs(rho)
            if with_unknowns is not None:
                misfit = StackedResidual(
                    [with_unknowns], self.estimate.parameters, deviations=noise
                )
            (fit,) = misfit.fits(self.estimate.rho)
            if find_reason is not None and (reason := find_reason(fit.channels, fit.outputs)):
                return Candidate(experiment.name, -np.inf, half_widths, half_widths, reason)
            if with_unknowns is None:
                fit = replace(fit, measured=np.zeros_like(fit.outputs))
            scores = self._scores(misfit.experiments[0], fit, rho)
        except SimulationError as error:
            return Candidate(experiment.name, -np.inf, half_widths, half_widths, str(error))
        J = reduce_by_qr([fit])[1][:, self.counted]
        after = self._covariance(self.F + J.T @ J, self.scores + scores)
        gain = 0.5 * (self._log_det(self.covariance) - self._log_det(after))
        return Candidate(experiment.name, gain, self._half_widths(after), half_widths)

    def _of_counted(self, F: np.ndarray) -> np.ndarray:
        return F[np.ix_(self.counted, self.counted)]

    def _scores(self, experiment: Experiment, fit: Fit, rho: np.ndarray) -> np.ndarray:
        return self._of_counted(input_scores(experiment, fit, rho, self.counted))

    def _covariance(self, F: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Covariance of the parameters [units], from noise of outputs and of inputs."""
        units = np.outer(self.scale, self.scale)
        C = np.linalg.inv(F * units) * units
        return np.asarray(C + C @ scores @ C)

    def _log_det(self, C: np.ndarray) -> float:
        return float(np.linalg.slogdet(C / np.outer(self.scale, self.scale))[1])

    def _half_widths(self, C: np.ndarray) -> dict[str, float]:
        return dict(zip(self.names, (self.reach * np.sqrt(np.diag(C))).tolist(), strict=True))
