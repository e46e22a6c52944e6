"""Parametric bootstrap: data simulated at an estimate with new noise, fitted again.

Intervals from the Fisher information are linearised at the estimate. The scatter of refitted
estimates replaces them: it includes the curvature of the model, bounds, and the bias of the method.

Source: Efron, Tibshirani 1993, "An introduction to the bootstrap", sections 6.5 and 13.3.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from scipy import stats

from sofa_softctl.base.executors.retry import in_order, raise_worker_error
from sofa_softctl.errors import IdentificationError, SimulationError
from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.fitting.gauss_newton import search
from sofa_softctl.identification.fitting.residual import StackedResidual
from sofa_softctl.identification.fitting.searches import Make, check_picklable
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter
from sofa_softctl.identification.uncertainty.identifiability import CONFIDENCE
from sofa_softctl.identification.uncertainty.redrawn import (
    ExperimentWithUnknowns,
    simulate_with_noise,
)

REFITS_MIN = 20
"""Smallest number of refits for quantiles of 95 %."""


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Estimates from data that were simulated at an estimate with new noise."""

    names: tuple[str, ...]
    """Names of the parameters."""
    truth: np.ndarray
    """Parameters of the simulation: the estimate [unit of each], shape (n_rho,)."""
    found: np.ndarray
    """Estimates that converged [units], shape (n, n_rho)."""
    failed: tuple[str, ...]
    """Errors of the refits that did not converge."""
    seconds: float
    """Wall time [s]."""

    @property
    def low(self) -> np.ndarray:
        """Lower ends of 95 % quantile intervals [units], shape (n_rho,)."""
        return self._quantile(0.5 - 0.5 * CONFIDENCE)

    @property
    def high(self) -> np.ndarray:
        """Upper ends of 95 % quantile intervals [units], shape (n_rho,)."""
        return self._quantile(0.5 + 0.5 * CONFIDENCE)

    @property
    def bias(self) -> np.ndarray:
        """Mean of the estimates minus the truth [units], shape (n_rho,)."""
        return np.asarray(self.found.mean(axis=0) - self.truth)

    @property
    def bias_error(self) -> np.ndarray:
        """Standard deviation of the bias [units], shape (n_rho,)."""
        return np.asarray(self.found.std(axis=0, ddof=1) / np.sqrt(len(self.found)))

    def sampling_error(self) -> float:
        """Standard deviation of a half-width due to the number of refits, relative to it [-].

        Quantile of a normal distribution: sqrt(p (1 - p) / n) / density; two independent ends.
        """
        p = 0.5 + 0.5 * CONFIDENCE
        z = float(stats.norm.ppf(p))
        end_error = np.sqrt(p * (1.0 - p) / len(self.found)) / float(stats.norm.pdf(z))
        return float(end_error / np.sqrt(2.0) / z)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        columns = {"low": self.low, "high": self.high, "bias": self.bias}
        columns |= {"bias_error": self.bias_error}
        return {
            "refits": len(self.found),
            "failed": list(self.failed),
            "seconds": self.seconds,
            "parameters": {
                name: {label: float(values[i]) for label, values in columns.items()}
                for i, name in enumerate(self.names)
            },
        }

    def _quantile(self, probability: float) -> np.ndarray:
        return np.asarray(np.quantile(self.found, probability, axis=0))


def bootstrap(
    estimate: Estimate,
    experiments: Sequence[Experiment],
    draws: int = 200,
    *,
    seed: int = 0,
    evaluations_max: int = 200,
    progress: Callable[[int], None] | None = None,
    executor: Executor | None = None,
    make: Make | None = None,
) -> Bootstrap:
    """Simulate data with new noise at the estimate, and fit them from there, many times.

    Noise of outputs and inputs is drawn with its declared or estimated deviations; refits do not
    estimate it again. True inputs are the most likely ones if their errors are unknowns, else the
    recorded ones.

    Args:
        estimate: Estimate from the experiments, by Gauss-Newton.
        experiments: Experiments as they were given to the estimate.
        draws: Number of refits, 20 or more.
        seed: Seed of the noise; the numbers are the same with and without an executor.
        evaluations_max: Limit of evaluations of a refit.
        progress: Called with the number of completed refits.
        executor: Runs several refits at a time.
        make: Picklable function that makes the experiments in a worker; by default they are
            pickled.

    Raises:
        IdentificationError: Too few draws, noise of inputs that cannot be drawn, or more than half
            of the refits failed.
        WorkerError: Two worker processes died with the same refit.
    """
    if draws < REFITS_MIN:
        raise IdentificationError(
            f"A bootstrap of {draws} refits has no quantiles of 95 %. Expected {REFITS_MIN} or "
            "more."
        )
    began = perf_counter()
    make_in_worker = (
        partial(_return_experiments, tuple(experiments))
        if make is None or executor is None
        else make
    )
    if executor is not None:
        check_picklable(make_in_worker)
    refit = partial(_refit, _Refits.from_estimate(estimate, make_in_worker, evaluations_max))
    results, failed = list[np.ndarray](), list[str]()
    with raise_worker_error("Nothing of the bootstrap is kept."):
        seeds = [[seed, number] for number in range(draws)]
        for count, (rho, reason) in enumerate(in_order(executor, refit, seeds), start=1):
            if rho is None:
                failed.append(reason)
            else:
                results.append(rho)
            if progress is not None:
                progress(count)
    if len(results) < max(REFITS_MIN, draws // 2):
        raise IdentificationError(
            f"{len(failed)} of {draws} refits of the bootstrap failed, the first: {failed[0]}"
        )
    return Bootstrap(
        estimate.names, estimate.rho, np.array(results), tuple(failed), perf_counter() - began
    )


@dataclass(frozen=True, eq=False)
class _Refits:
    """Data that all refits share."""

    key: str
    """Key of the estimate, for the cache of a process."""
    make: Make
    """Function that makes the experiments as they were given."""
    parameters: tuple[Parameter, ...]
    """Parameters, starting at the estimate."""
    rho: np.ndarray
    """Estimated parameters, shape (n_rho,)."""
    free: np.ndarray
    """Mask of the fitted parameters, shape (n_rho,)."""
    channels: tuple[tuple[Channel, ...], ...]
    """Channels of each experiment, with the noise of the fit."""
    unknown: tuple[bool, ...]
    """True for each experiment with unknown inputs."""
    unknown_values: tuple[Any, ...]
    """Most likely unknowns of each experiment, from `export_unknowns`, or None."""
    evaluations_max: int
    """Limit of evaluations."""
    noise: dict[str, float] | None
    """Noise by channel if it was estimated, or None."""

    @classmethod
    def from_estimate(cls, estimate: Estimate, make: Make, evaluations_max: int) -> _Refits:
        misfit = StackedResidual(estimate.experiments, estimate.parameters)
        carried = [
            experiment.export_unknowns(misfit.experiment_parameters(k, estimate.rho))
            if isinstance(experiment, ExperimentWithUnknowns)
            else None
            for k, experiment in enumerate(misfit.experiments)
        ]
        channels = tuple(fit.channels for fit in estimate.fits)
        noise = {
            channel.name: channel.deviation for fit_channels in channels for channel in fit_channels
        }
        return cls(
            uuid.uuid4().hex,
            make,
            estimate.parameters,
            estimate.rho,
            estimate.free,
            channels,
            tuple(bool(experiment.unknowns) for experiment in estimate.experiments),
            tuple(carried),
            evaluations_max,
            noise if estimate.noise_estimated else None,
        )

    def experiments(self) -> list[Experiment]:
        """Return the fitted experiments, at the most likely values of their unknowns."""
        fitted_experiments = []
        sources = zip(self.make(), self.unknown, self.unknown_values, strict=True)
        for declared, unknown, unknowns in sources:
            fitted = Experiment.checked(declared)
            if unknown:
                fitted = fitted.with_unknown_inputs() or fitted
                if isinstance(fitted, ExperimentWithUnknowns):
                    fitted.import_unknowns(unknowns)
            fitted_experiments.append(fitted)
        return fitted_experiments


_MADE: dict[str, list[Experiment]] = {}
"""Experiments of the last bootstrap in this process, by its key."""


def _return_experiments(experiments: tuple[Experiment, ...]) -> tuple[Experiment, ...]:
    return experiments


def _refit(refits: _Refits, seed: list[int]) -> tuple[np.ndarray | None, str]:
    """Return parameters that fit newly drawn data, or None and the reason of the failure."""
    if refits.key not in _MADE:
        _MADE.clear()
        with warnings.catch_warnings():  # the main process has shown them
            warnings.simplefilter("ignore")
            _MADE[refits.key] = refits.experiments()
    random, exact = np.random.default_rng(seed), _MADE[refits.key]
    residuals = StackedResidual(exact, refits.parameters)
    try:
        simulated = [
            simulate_with_noise(
                experiment,
                residuals.experiment_parameters(k, refits.rho),
                refits.channels[k],
                random,
            )
            for k, experiment in enumerate(exact)
        ]
        parameters = [
            _draw_prior(parameter, value, random)
            for parameter, value in zip(refits.parameters, refits.rho.tolist(), strict=True)
        ]
        misfit = StackedResidual(simulated, parameters, deviations=refits.noise)
        result = search(misfit, refits.rho, refits.free, evaluations_max=refits.evaluations_max)
    except SimulationError as error:
        return None, str(error)
    if not result.termination.status.ok:
        return None, result.termination.value
    return result.rho, ""


def _draw_prior(parameter: Parameter, value: float, random: np.random.Generator) -> Parameter:
    """Draw the mean of a prior, which is a datum too, around the value that counts as true."""
    if parameter.prior is None:
        return parameter
    mean = value + parameter.prior.deviation * float(random.standard_normal())
    return replace(parameter, prior=replace(parameter.prior, mean=mean))
