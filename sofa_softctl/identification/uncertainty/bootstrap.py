"""Parametric bootstrap: data simulated at an estimate with new noise, fitted again.

Intervals from the Fisher information are linearised at the estimate. Here the spread of refitted
estimates takes their place: it has the bend of the model, bounds, and the bias of the method.

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

from sofa_softctl.base.executors.retry import in_order, lost_workers
from sofa_softctl.errors import IdentificationError, SimulationError
from sofa_softctl.identification.fitting.estimate import EVALUATIONS, Estimate
from sofa_softctl.identification.fitting.gauss_newton import search
from sofa_softctl.identification.fitting.residual import StackedResidual
from sofa_softctl.identification.fitting.searches import Make, check_picklable
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter
from sofa_softctl.identification.uncertainty.identifiability import CONFIDENCE
from sofa_softctl.identification.uncertainty.redrawn import Resumable, redrawn

FEWEST = 20
"""Least number of refits for quantiles of 95 %."""


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
    """Why others did not."""
    seconds: float
    """Wall time [s]."""

    @property
    def low(self) -> np.ndarray:
        """Lower ends of 95 % quantile intervals [units], shape (n_rho,)."""
        return self._quantile(0.5 - 0.5 * CONFIDENCE)

    @property
    def high(self) -> np.ndarray:
        """Upper ends [units], shape (n_rho,)."""
        return self._quantile(0.5 + 0.5 * CONFIDENCE)

    @property
    def bias(self) -> np.ndarray:
        """Mean of the estimates less the truth [units], shape (n_rho,)."""
        found: np.ndarray = self.found.mean(axis=0) - self.truth
        return found

    @property
    def bias_error(self) -> np.ndarray:
        """Standard deviation of that mean [units], shape (n_rho,)."""
        found: np.ndarray = self.found.std(axis=0, ddof=1) / np.sqrt(len(self.found))
        return found

    def sampling_error(self) -> float:
        """Standard deviation of a half-width from so few refits, relative to it [-].

        Of normal quantiles: sqrt(p (1 - p) / n) / density at the quantile, of both ends together.
        """
        p = 0.5 + 0.5 * CONFIDENCE
        z = float(stats.norm.ppf(p))
        one = np.sqrt(p * (1.0 - p) / len(self.found)) / float(stats.norm.pdf(z))
        return float(one / np.sqrt(2.0) / z)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        columns = {"low": self.low, "high": self.high, "bias": self.bias}
        columns |= {"bias_error": self.bias_error}
        return {
            "refits": len(self.found),
            "failed": list(self.failed),
            "seconds": self.seconds,
            "parameters": {
                name: {what: float(values[i]) for what, values in columns.items()}
                for i, name in enumerate(self.names)
            },
        }

    def _quantile(self, share: float) -> np.ndarray:
        found: np.ndarray = np.quantile(self.found, share, axis=0)
        return found


def bootstrap(
    estimate: Estimate,
    experiments: Sequence[Experiment],
    draws: int = 200,
    *,
    seed: int = 0,
    most: int = EVALUATIONS,
    progress: Callable[[int], None] | None = None,
    executor: Executor | None = None,
    make: Make | None = None,
) -> Bootstrap:
    """Simulate the data anew at the estimate, and fit them from there, many times.

    Noise of outputs and inputs is drawn as it was declared, or estimated; where it was estimated,
    refits take it as known. Inputs are those that were taken as true: the likeliest ones where
    their errors are unknowns, else the recorded ones.

    Args:
        estimate: From the experiments, by Gauss-Newton.
        experiments: As they were given to the estimate.
        draws: Number of refits, 20 or more.
        seed: Seed of the noise; the numbers are the same with and without an executor.
        most: Limit of evaluations of a refit.
        progress: Called with the number of refits that are done.
        executor: Does several refits at a time.
        make: Makes the experiments in its processes; picklable. None: they are pickled.

    Raises:
        IdentificationError: Too few draws, noise of inputs that cannot be drawn, or most refits
            failed.
        WorkerError: Two worker processes died with the same refit.
    """
    if draws < FEWEST:
        raise IdentificationError(
            f"A bootstrap of {draws} refits has no quantiles of 95 %. Expected {FEWEST} or more."
        )
    began = perf_counter()
    made = partial(_given, tuple(experiments)) if make is None or executor is None else make
    if executor is not None:
        check_picklable(made)
    refit = partial(_refit, _Refits.of(estimate, made, most))
    found, failed = list[np.ndarray](), list[str]()
    with lost_workers("Nothing of the bootstrap is kept."):
        seeds = [[seed, number] for number in range(draws)]
        for count, (rho, why) in enumerate(in_order(executor, refit, seeds), start=1):
            if rho is None:
                failed.append(why)
            else:
                found.append(rho)
            if progress is not None:
                progress(count)
    if len(found) < max(FEWEST, draws // 2):
        raise IdentificationError(
            f"{len(failed)} of {draws} refits of the bootstrap failed, the first: {failed[0]}"
        )
    return Bootstrap(
        estimate.names, estimate.rho, np.array(found), tuple(failed), perf_counter() - began
    )


@dataclass(frozen=True, eq=False)
class _Refits:
    """What all refits share."""

    key: str
    """Of the estimate, for what a process keeps."""
    make: Make
    """Makes the experiments as they were given."""
    parameters: tuple[Parameter, ...]
    """Starting at the estimate."""
    rho: np.ndarray
    """The estimate, shape (n_rho,)."""
    free: np.ndarray
    """Mask of the fitted parameters, shape (n_rho,)."""
    channels: tuple[tuple[Channel, ...], ...]
    """Of each experiment, with the noise that was fitted with."""
    unknown: tuple[bool, ...]
    """Which experiments have unknown inputs..."""
    carried: tuple[Any, ...]
    """... and where their likeliest values are."""
    most: int
    """Limit of evaluations."""
    noise: dict[str, float] | None
    """Noise by channel where it was estimated."""

    @classmethod
    def of(cls, estimate: Estimate, make: Make, most: int) -> _Refits:
        misfit = StackedResidual(estimate.experiments, estimate.parameters)
        carried = [
            one.carried(misfit.of(k, estimate.rho)) if isinstance(one, Resumable) else None
            for k, one in enumerate(misfit.experiments)
        ]
        channels = tuple(fit.channels for fit in estimate.fits)
        noise = {one.name: one.deviation for each in channels for one in each}
        return cls(
            uuid.uuid4().hex,
            make,
            estimate.parameters,
            estimate.rho,
            estimate.free,
            channels,
            tuple(bool(one.unknowns) for one in estimate.experiments),
            tuple(carried),
            most,
            noise if estimate.noise_estimated else None,
        )

    def experiments(self) -> list[Experiment]:
        """As they were fitted, at the likeliest values of their unknowns."""
        found = []
        given = zip(self.make(), self.unknown, self.carried, strict=True)
        for one, unknown, carried in given:
            fitted = Experiment.checked(one)
            if unknown:
                fitted = fitted.with_unknown_inputs() or fitted
                if isinstance(fitted, Resumable):
                    fitted.resume(carried)
            found.append(fitted)
        return found


_MADE: dict[str, list[Experiment]] = {}
"""Experiments of the last bootstrap in this process, by its key."""


def _given(experiments: tuple[Experiment, ...]) -> tuple[Experiment, ...]:
    return experiments


def _refit(refits: _Refits, seed: list[int]) -> tuple[np.ndarray | None, str]:
    """Parameters that fit newly drawn data; None: why there are none."""
    if refits.key not in _MADE:
        _MADE.clear()
        with warnings.catch_warnings():  # the process that asks has shown them
            warnings.simplefilter("ignore")
            _MADE[refits.key] = refits.experiments()
    random, exact = np.random.default_rng(seed), _MADE[refits.key]
    places = StackedResidual(exact, refits.parameters)
    try:
        drawn = [
            redrawn(one, places.of(k, refits.rho), refits.channels[k], random)
            for k, one in enumerate(exact)
        ]
        parameters = [
            _redrawn_prior(one, value, random)
            for one, value in zip(refits.parameters, refits.rho.tolist(), strict=True)
        ]
        misfit = StackedResidual(drawn, parameters, deviations=refits.noise)
        found = search(misfit, refits.rho, refits.free, most=refits.most)
    except SimulationError as error:
        return None, str(error)
    if not found.termination.status.ok:
        return None, found.termination.value
    return found.rho, ""


def _redrawn_prior(one: Parameter, value: float, random: np.random.Generator) -> Parameter:
    """A prior is a datum, too: its mean is drawn around the value that counts as true."""
    if one.prior is None:
        return one
    mean = value + one.prior.deviation * float(random.standard_normal())
    return replace(one, prior=replace(one.prior, mean=mean))
