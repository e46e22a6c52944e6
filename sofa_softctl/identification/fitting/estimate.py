"""Maximum-likelihood estimates of parameters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from time import perf_counter
from typing import Any

import numpy as np

from sofa_softctl.errors import IdentificationError, SimulationError
from sofa_softctl.identification.data.signal_checks import suspicious_channels
from sofa_softctl.identification.data.units import quantity
from sofa_softctl.identification.fitting.failed_starts import (
    check_found,
    unsimulated_error,
    warnings_on,
)
from sofa_softctl.identification.fitting.gauss_newton import SearchResult, Termination, search
from sofa_softctl.identification.fitting.outliers import rescale_noise
from sofa_softctl.identification.fitting.reduced import (
    left_out_noise_warnings,
    reduce_by_qr,
    unobservable_parameters,
)
from sofa_softctl.identification.fitting.residual import Fit, StackedResidual
from sofa_softctl.identification.fitting.searches import (
    Make,
    Progress,
    SearchTask,
    search_all,
)
from sofa_softctl.identification.fitting.starts import (
    Minimum,
    distinct_minima,
    midpoint_towards,
    spread_starts,
)
from sofa_softctl.identification.fitting.unknown_inputs import with_unknown_inputs
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter, starts
from sofa_softctl.status import Status


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """Estimated parameters, and the searches that found them."""

    parameters: tuple[Parameter, ...]
    """Names, units and bounds of rho."""
    rho: np.ndarray
    """Values [unit of each], shape (n_rho,)."""
    termination: Termination
    """Reason why the best search ended."""
    cost: float
    """Sum of squared residuals of data and priors, in standard deviations [-]."""
    fits: tuple[Fit, ...]
    """Measured and predicted outputs of each experiment, at rho."""
    prior_information: np.ndarray
    """1 / deviation^2 of each prior, 0 without one [1 / unit^2], shape (n_rho,)."""
    fixed: tuple[str, ...]
    """Parameters that the caller kept at their starts."""
    unobservable: tuple[str, ...]
    """Parameters that no datum depends on: kept at their starts, or at their priors."""
    at_bound: tuple[str, ...]
    """Parameters that ended at a bound."""
    noise_estimated: bool
    """True if the channels' noise was estimated from residuals."""
    experiments: tuple[Experiment, ...]
    """Fitted experiments, possibly with unknown inputs."""
    searches: tuple[SearchResult, ...]
    """Searches from each start, best first, with the declared noise."""
    warnings: tuple[str, ...]
    """Warnings on data and starts."""
    method: str
    """Method of the search."""
    evaluations: int
    """Simulations of all experiments, with derivatives."""
    seconds: float
    """Wall time [s]."""
    failed: tuple[tuple[np.ndarray, str], ...] = ()
    """Starts without a result, shape (n_rho,), each with the reason."""
    branches: tuple[SearchResult, ...] = ()
    """All results with unknown inputs, on branches of the motion, best first."""

    @cached_property
    def minima(self) -> tuple[Minimum, ...]:
        """Distinct minima at which searches converged, best first."""
        return distinct_minima(self.searches)

    @property
    def status(self) -> Status:
        """Status of the best search."""
        return self.termination.status

    @property
    def message(self) -> str:
        """Sentence on the end of the best search, with a recommendation if it is not solved."""
        return self.termination.value

    def __repr__(self) -> str:
        """Parameters with one standard deviation from noise of the outputs, and the status."""
        deviations = self._deviations()
        texts = []
        for parameter, value, deviation in zip(self.parameters, self.rho, deviations, strict=True):
            width = f" ± {deviation:.2g}" if np.isfinite(deviation) else ""
            note = " (kept)" if parameter.name in self.held else ""
            texts.append(
                f"{parameter.name} = {quantity(f'{value:.5g}{width}', parameter.unit)}{note}"
            )
        values = ", ".join(texts)
        return (
            f"Estimate({values}; {self.termination.name}, {self.data} data, cost {self.cost:.4g})"
        )

    def _deviations(self) -> np.ndarray:
        """Standard deviations due to noise of outputs, NaN if not fitted, shape (n_rho,)."""
        J = reduce_by_qr(self.fits)[1][:, self.free]
        size = np.array([parameter.scale for parameter in self.parameters])[self.free]
        deviations = np.full(len(self.rho), np.nan)
        F = (J * size).T @ (J * size) + np.diag(self.prior_information[self.free] * size**2)
        if len(F) and np.linalg.cond(F) < 1e12:
            deviations[self.free] = size * np.sqrt(np.diag(np.linalg.inv(F)))
        return deviations

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def held(self) -> tuple[str, ...]:
        """Parameters that were not fitted: fixed, or unobservable and without a prior."""
        with_prior = {
            parameter.name for parameter in self.parameters if parameter.prior is not None
        }
        return (*self.fixed, *(name for name in self.unobservable if name not in with_prior))

    @property
    def free(self) -> np.ndarray:
        """Mask of the parameters that were fitted, shape (n_rho,)."""
        return np.array([name not in self.held for name in self.names])

    @property
    def data(self) -> int:
        """Number of compared samples."""
        return sum(int(fit.is_measured.sum()) for fit in self.fits)

    def value(self, name: str) -> float:
        """Value of a parameter [unit of the parameter]."""
        return float(self.rho[self.names.index(name)])

    def values(self) -> dict[str, float]:
        """Values of all parameters by name."""
        return dict(zip(self.names, self.rho.tolist(), strict=True))


def estimate(
    experiments: Sequence[Experiment],
    parameters: Sequence[Parameter] | None = None,
    *,
    fixed: Collection[str] = (),
    starts: int = 1,
    seed: int = 0,
    estimate_noise: bool = False,
    exact_inputs: bool = False,
    evaluations_max: int = 200,
    progress: Progress | None = None,
    warn: Callable[[str], None] | None = None,
    executor: Executor | None = None,
    make: Make | None = None,
) -> Estimate:
    """Fit parameters to all experiments simultaneously.

    The estimate minimises the sum over experiments, times and channels of
    ((predicted - measured) / noise)^2, and of ((rho - mean) / deviation)^2 over priors: the maximum
    of the likelihood (with priors: of the posterior density) for independent normal noise. Errors
    of noisy inputs are further unknowns, weighted by their noise: such experiments are fitted with
    exact inputs first, then with unknown ones, see `Experiment.with_unknown_inputs`.

    Args:
        experiments: Experiments; parameters of the same name are shared.
        parameters: Starts, bounds and priors that replace those of the experiments.
        fixed: Names of parameters to keep at their starts.
        starts: Number of searches: from the start of the parameters, and from random starts around
            it. The best result is returned.
        seed: Seed of the random starts.
        estimate_noise: Estimate each channel's noise from its residuals as well; with unknown
            inputs, a factor of all.
        exact_inputs: Take recorded inputs as exact. Estimates are biased if they are noisy.
        evaluations_max: Limit of evaluations of a search.
        progress: Called after each evaluation; with an executor, at the end of each search.
        warn: Called with each warning on the data, before the search.
        executor: Runs searches in parallel, by default one after the other; the estimate is the
            same.
        make: Picklable function that makes the experiments in a worker; by default they are
            pickled.

    Raises:
        IdentificationError: Fewer data than parameters, an unknown name in `fixed`, experiments
            that cannot be sent to the executor, or the model cannot be simulated at any start.
        WorkerError: The executor is broken, or every search lost its worker processes.
    """
    began = perf_counter()
    misfit = StackedResidual(experiments, parameters)
    fitting = _SearchRunner(misfit, fixed, evaluations_max, progress, warn)
    searches = fitting.from_starts(starts, seed, executor, make)
    if not exact_inputs:
        searches = fitting.with_unknown_inputs(searches)
    best = fitting.with_noise(searches[0]) if estimate_noise else searches[0]
    return assess(
        fitting.misfit,
        best,
        fixed=tuple(fixed),
        unobservable=fitting.unobservable,
        noise_estimated=estimate_noise,
        searches=searches,
        warnings=(*fitting.warnings, *left_out_noise_warnings(fitting.misfit.experiments)),
        evaluations=fitting.evaluations,
        seconds=perf_counter() - began,
        failed=fitting.failed,
        branches=fitting.branches,
    )


def as_fitted(estimate: Estimate, experiments: Sequence[Experiment]) -> tuple[Experiment, ...]:
    """Return the experiments, replaced by the fitted ones if these have unknown inputs."""
    pairs = zip(estimate.experiments, experiments, strict=True)
    return tuple(fitted if fitted.unknowns else original for fitted, original in pairs)


def assess(misfit: StackedResidual, best: SearchResult, **remaining_fields: Any) -> Estimate:
    """The estimate at the end of a search; `others`: the remaining fields."""
    return Estimate(
        parameters=misfit.parameters,
        rho=best.rho,
        termination=best.termination,
        cost=best.cost,
        fits=misfit.fits(best.rho),
        prior_information=misfit.prior_information,
        experiments=misfit.experiments,
        at_bound=best.at_bound,
        **{"method": "Gauss-Newton in a trust region"} | remaining_fields,
    )


class _SearchRunner:
    """The searches of one estimate, with warnings and counts."""

    def __init__(
        self,
        misfit: StackedResidual,
        fixed: Collection[str],
        evaluations_max: int,
        progress: Progress | None,
        warn: Callable[[str], None] | None,
    ) -> None:
        for name in fixed:
            if name not in misfit.names:
                raise IdentificationError(
                    f"There is no parameter '{name}' to fix. There are: {', '.join(misfit.names)}."
                )
        self.misfit, self.evaluations_max, self.progress, self.warn = (
            misfit,
            evaluations_max,
            progress,
            warn,
        )
        self.fixed = np.array([name in fixed for name in misfit.names])
        self.all_fixed = bool(self.fixed.all())
        self.unobservable: tuple[str, ...] = ()
        self.warnings: tuple[str, ...] = ()
        self.failed: tuple[tuple[np.ndarray, str], ...] = ()
        self.branches: tuple[SearchResult, ...] = ()
        self.evaluations = 0

    def from_starts(
        self, count: int, seed: int, executor: Executor | None = None, make: Make | None = None
    ) -> tuple[SearchResult, ...]:
        """Search from each start, best result first; unobservable parameters are not fitted."""
        begin = starts(self.misfit.parameters)
        points = [begin, *spread_starts(self.misfit.parameters, ~self.fixed, count - 1, seed)]
        anchor = self._first_simulable_start(points)
        if self.fixed.all():
            return (self._result_at_start(),)
        attempts = search_all(
            self.misfit,
            [self._task(number, point, anchor) for number, point in enumerate(points)],
            self.progress,
            executor=executor,
            make=make,
        )
        results = [attempt.result for attempt in attempts if attempt.result is not None]
        self.evaluations += sum(result.evaluations for result in results)
        check_found(attempts, self.misfit.names)
        self.warnings += warnings_on(attempts, self.misfit.names)
        self.failed = tuple(
            (attempt.task.start, attempt.simulation_error or attempt.worker_error)
            for attempt in attempts
            if attempt.result is None
        )
        return tuple(sorted(results, key=lambda result: result.cost))

    def _first_simulable_start(self, points: Sequence[np.ndarray]) -> np.ndarray:
        """Return the first start that can be simulated, after checking the data there."""
        reason: SimulationError | None = None
        for number, start in enumerate(points):
            point = start
            for _ in range(5 if number else 1):  # as in `search_from`
                try:
                    self._check(point)
                    return point
                except SimulationError as error:
                    reason = reason or error
                    point = midpoint_towards(points[0], point)
        assert reason is not None
        raise unsimulated_error(points[0], str(reason), self.misfit.names) from reason

    def _task(self, number: int, point: np.ndarray, anchor: np.ndarray) -> SearchTask:
        begin = starts(self.misfit.parameters)
        return SearchTask(
            number,
            np.where(self.fixed, begin, point),
            np.where(self.fixed, begin, anchor),
            ~self.fixed,
            self.evaluations_max,
        )

    def _result_at_start(self) -> SearchResult:
        """Return the result of a search without free parameters."""
        begin = starts(self.misfit.parameters)
        residuals, _ = reduce_by_qr(self.misfit.fits(begin), self.misfit.stack_residuals((), begin))
        cost = float(residuals @ residuals)
        ended = Termination.FIXED if self.all_fixed else Termination.UNOBSERVABLE
        return SearchResult(begin, begin, cost, ended, (), 1, 0, "")

    def with_unknown_inputs(self, searches: tuple[SearchResult, ...]) -> tuple[SearchResult, ...]:
        """Search with noisy inputs as unknowns, from the results with exact inputs."""
        if self.fixed.all():
            return searches
        report = None if self.progress is None else partial(self.progress, 0)
        result = with_unknown_inputs(
            self.misfit, searches, ~self.fixed, self.evaluations_max, report
        )
        self.misfit, self.evaluations = result.misfit, self.evaluations + result.evaluations
        self.warnings += result.warnings
        self.branches = result.branches
        return result.searches

    def with_noise(self, best: SearchResult) -> SearchResult:
        """Alternate between noise from residuals and parameters with it until neither changes."""
        for _ in range(10):  # two or three rounds suffice in general
            fits = self.misfit.fits(best.rho)
            noise, change = rescale_noise(fits, int((~self.fixed).sum()))
            self.misfit = StackedResidual(
                self.misfit.experiments, self.misfit.parameters, deviations=noise
            )
            best = self._continue_search(best)
            if change < 1e-3:
                break
        return best

    def _continue_search(self, best: SearchResult) -> SearchResult:
        """Search from the end of the best search."""
        if self.fixed.all():
            return self._result_at_start()
        report = self.progress
        result = search(
            self.misfit,
            best.rho,
            ~self.fixed,
            evaluations_max=self.evaluations_max,
            progress=None if report is None else partial(report, 0),
        )
        self.evaluations += result.evaluations
        return result

    def _check(self, start: np.ndarray) -> None:
        """Check the data at a start that can be simulated: number, units, observability."""
        fits = self.misfit.fits(start)
        self.evaluations += 1
        has_prior = self.misfit.prior_information > 0.0
        self._check_count(sum(int(fit.is_measured.sum()) for fit in fits))
        self.unobservable = unobservable_parameters(self.misfit, start, fits)
        is_unobservable = np.isin(self.misfit.names, self.unobservable)
        self.fixed = self.fixed | (is_unobservable & ~has_prior)
        suspicious = [
            text
            for fit, experiment in zip(fits, self.misfit.experiments, strict=True)
            for text in suspicious_channels(
                fit.measured, fit.outputs, fit.channels, experiment.inputs
            )
        ]
        self.warnings += tuple(dict.fromkeys(suspicious))
        if self.warn is not None:
            for text in self.warnings:
                self.warn(text)

    def _check_count(self, data: int) -> None:
        parameter_count = int((~self.fixed & (self.misfit.prior_information == 0.0)).sum())
        if data < max(parameter_count, 1):
            raise IdentificationError(
                f"There are {data} measured samples for {parameter_count} parameters without "
                "prior. Record "
                "more, fix parameters, or give them a prior."
            )


def start_at(parameters: Sequence[Parameter], values: Mapping[str, float]) -> tuple[Parameter, ...]:
    """Return the parameters with new starts by name.

    Raises:
        IdentificationError: A name is unknown, or a start is outside the bounds.
    """
    names = [parameter.name for parameter in parameters]
    for name in values:
        if name not in names:
            raise IdentificationError(
                f"There is no parameter '{name}'. There are: {', '.join(names)}."
            )
    return tuple(
        replace(parameter, start=values.get(parameter.name, parameter.start))
        for parameter in parameters
    )
