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
    unsimulated,
    warnings_on,
)
from sofa_softctl.identification.fitting.gauss_newton import SearchResult, Termination, search
from sofa_softctl.identification.fitting.outliers import rescaled
from sofa_softctl.identification.fitting.reduced import left_out, reduced, unobservable_parameters
from sofa_softctl.identification.fitting.residual import Fit, StackedResidual
from sofa_softctl.identification.fitting.searches import (
    CLOSER,
    Make,
    Progress,
    SearchTask,
    search_all,
)
from sofa_softctl.identification.fitting.starts import (
    Minimum,
    closer,
    distinct_minima,
    spread_starts,
)
from sofa_softctl.identification.fitting.unknown_inputs import with_unknown_inputs
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter, starts
from sofa_softctl.status import Status

EVALUATIONS = 200
"""Default limit of evaluations of a search."""
NOISE_ROUNDS = 10
"""Most rounds of noise estimation."""


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
    """Whether the channels' noise was estimated from residuals, not given."""
    experiments: tuple[Experiment, ...]
    """What was fitted: experiments as they were given, or with unknown inputs."""
    searches: tuple[SearchResult, ...]
    """All searches, one for each start, best first; with the noise that was declared."""
    warnings: tuple[str, ...]
    """Warnings on data and starts."""
    method: str
    """Method of the search."""
    evaluations: int
    """Simulations of all experiments, with derivatives."""
    seconds: float
    """Wall time [s]."""
    failed: tuple[tuple[np.ndarray, str], ...] = ()
    """Starts without a search, shape (n_rho,), and why."""
    branches: tuple[SearchResult, ...] = ()
    """All ends with unknown inputs, on branches of the motion, best first."""

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
        """How the best search ended, and what to do if it is not solved."""
        return self.termination.value

    def __repr__(self) -> str:
        """Parameters with one standard deviation from noise of the outputs, and the status."""
        deviations = self._deviations()
        texts = []
        for one, value, deviation in zip(self.parameters, self.rho, deviations, strict=True):
            width = f" ± {deviation:.2g}" if np.isfinite(deviation) else ""
            kept = " (kept)" if one.name in self.held else ""
            texts.append(f"{one.name} = {quantity(f'{value:.5g}{width}', one.unit)}{kept}")
        values = ", ".join(texts)
        return (
            f"Estimate({values}; {self.termination.name}, {self.data} data, cost {self.cost:.4g})"
        )

    def _deviations(self) -> np.ndarray:
        """From noise of the outputs; NaN: held, or singular, shape (n_rho,)."""
        J = reduced(self.fits)[1][:, self.free]
        size = np.array([one.scale for one in self.parameters])[self.free]
        found = np.full(len(self.rho), np.nan)
        F = (J * size).T @ (J * size) + np.diag(self.prior_information[self.free] * size**2)
        if len(F) and np.linalg.cond(F) < 1e12:
            found[self.free] = size * np.sqrt(np.diag(np.linalg.inv(F)))
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(one.name for one in self.parameters)

    @property
    def held(self) -> tuple[str, ...]:
        """Parameters that were not fitted: fixed, or unobservable and without a prior."""
        known = {one.name for one in self.parameters if one.prior is not None}
        return (*self.fixed, *(name for name in self.unobservable if name not in known))

    @property
    def free(self) -> np.ndarray:
        """Which parameters were fitted, shape (n_rho,)."""
        return np.array([name not in self.held for name in self.names])

    @property
    def data(self) -> int:
        """Number of compared samples."""
        return sum(int(fit.there.sum()) for fit in self.fits)

    def value(self, name: str) -> float:
        """One parameter [its unit]."""
        return float(self.rho[self.names.index(name)])

    def values(self) -> dict[str, float]:
        """All parameters by name."""
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
    most: int = EVALUATIONS,
    progress: Progress | None = None,
    warn: Callable[[str], None] | None = None,
    executor: Executor | None = None,
    make: Make | None = None,
) -> Estimate:
    """Fit parameters to all experiments at once.

    Minimises the sum over experiments, times and channels of ((predicted - measured) / noise)^2,
    and of ((rho - mean) / deviation)^2 over priors: the maximum of the likelihood (of the posterior
    density with priors) for independent normal noise. Where inputs are noisy, that holds with their
    errors as further unknowns, weighed by their own noise: such experiments are fitted with exact
    inputs first, then, from starts and from ends, in this way, see
    `Experiment.with_unknown_inputs`.

    Args:
        experiments: Share parameters of the same name.
        parameters: Replace starts, bounds and priors of the experiments; None: those are used.
        fixed: Names of parameters to keep at their starts.
        starts: Number of searches: from the given start, and from others around it. The best is
            kept.
        seed: Seed of the other starts.
        estimate_noise: Estimate each channel's noise from its residuals as well; with unknown
            inputs, a factor of all.
        exact_inputs: Take recorded inputs as they are. Estimates are biased where they are noisy.
        most: Limit of evaluations of a search.
        progress: Called after each evaluation; with an executor, at the end of each search.
        warn: Called with each warning on the data, before the search.
        executor: Does the searches of several starts at the same time; None: one after the other.
            The estimate is the same.
        make: Makes the experiments in its processes; picklable. None: they are pickled.

    Raises:
        IdentificationError: Fewer data than parameters, an unknown name in `fixed`, experiments
            that cannot be sent to the executor, or the model cannot be simulated at any start.
        WorkerError: The executor is broken, or every search lost its worker processes.
    """
    began = perf_counter()
    misfit = StackedResidual(experiments, parameters)
    fitting = _Fitting(misfit, fixed, most, progress, warn)
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
        warnings=(*fitting.warnings, *left_out(fitting.misfit.experiments)),
        evaluations=fitting.evaluations,
        seconds=perf_counter() - began,
        failed=fitting.failed,
        branches=fitting.branches,
    )


def as_fitted(estimate: Estimate, experiments: Sequence[Experiment]) -> tuple[Experiment, ...]:
    """Experiments of an estimate, those with unknown inputs as they were fitted."""
    pairs = zip(estimate.experiments, experiments, strict=True)
    return tuple(own if own.unknowns else given for own, given in pairs)


def assess(misfit: StackedResidual, best: SearchResult, **others: Any) -> Estimate:
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
        **{"method": "Gauss-Newton in a trust region"} | others,
    )


class _Fitting:
    """The searches of one estimate, with warnings and counts."""

    def __init__(
        self,
        misfit: StackedResidual,
        fixed: Collection[str],
        most: int,
        progress: Progress | None,
        warn: Callable[[str], None] | None,
    ) -> None:
        for name in fixed:
            if name not in misfit.names:
                raise IdentificationError(
                    f"There is no parameter '{name}' to fix. There are: {', '.join(misfit.names)}."
                )
        self.misfit, self.most, self.progress, self.warn = misfit, most, progress, warn
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
        """Searches from each start, best first; unobservable parameters are held."""
        begin = starts(self.misfit.parameters)
        points = [begin, *spread_starts(self.misfit.parameters, ~self.fixed, count - 1, seed)]
        anchor = self._checked(points)
        if self.fixed.all():
            return (self._at_start(),)
        attempts = search_all(
            self.misfit,
            [self._task(number, point, anchor) for number, point in enumerate(points)],
            self.progress,
            executor=executor,
            make=make,
        )
        found = [one.found for one in attempts if one.found is not None]
        self.evaluations += sum(one.evaluations for one in found)
        check_found(attempts, self.misfit.names)
        self.warnings += warnings_on(attempts, self.misfit.names)
        self.failed = tuple(
            (one.task.start, one.unsimulated or one.lost) for one in attempts if one.found is None
        )
        return tuple(sorted(found, key=lambda one: one.cost))

    def _checked(self, points: Sequence[np.ndarray]) -> np.ndarray:
        """The first start that can be simulated, where the data are checked."""
        reason: SimulationError | None = None
        for number, start in enumerate(points):
            point = start
            for _ in range(CLOSER + 1 if number else 1):
                try:
                    self._check(point)
                    return point
                except SimulationError as error:
                    reason = reason or error
                    point = closer(points[0], point)
        assert reason is not None
        raise unsimulated(points[0], str(reason), self.misfit.names) from reason

    def _task(self, number: int, point: np.ndarray, anchor: np.ndarray) -> SearchTask:
        begin = starts(self.misfit.parameters)
        return SearchTask(
            number,
            np.where(self.fixed, begin, point),
            np.where(self.fixed, begin, anchor),
            ~self.fixed,
            self.most,
        )

    def _at_start(self) -> SearchResult:
        """The start, where no parameter is to be fitted."""
        begin = starts(self.misfit.parameters)
        residuals, _ = reduced(self.misfit.fits(begin), self.misfit.stacked((), begin))
        cost = float(residuals @ residuals)
        ended = Termination.FIXED if self.all_fixed else Termination.UNOBSERVABLE
        return SearchResult(begin, begin, cost, ended, (), 1, 0, "")

    def with_unknown_inputs(self, searches: tuple[SearchResult, ...]) -> tuple[SearchResult, ...]:
        """Searches with noisy inputs as unknowns, from the ends of those with exact ones."""
        if self.fixed.all():
            return searches
        report = None if self.progress is None else partial(self.progress, 0)
        found = with_unknown_inputs(self.misfit, searches, ~self.fixed, self.most, report)
        self.misfit, self.evaluations = found.misfit, self.evaluations + found.evaluations
        self.warnings += found.warnings
        self.branches = found.branches
        return found.searches

    def with_noise(self, best: SearchResult) -> SearchResult:
        """Alternate between noise from residuals and parameters with it until neither changes."""
        for _ in range(NOISE_ROUNDS):
            fits = self.misfit.fits(best.rho)
            noise, change = rescaled(fits, int((~self.fixed).sum()))
            self.misfit = StackedResidual(
                self.misfit.experiments, self.misfit.parameters, deviations=noise
            )
            best = self._again(best)
            if change < 1e-3:
                break
        return best

    def _again(self, best: SearchResult) -> SearchResult:
        """The search from where the best one ended."""
        if self.fixed.all():
            return self._at_start()
        report = self.progress
        found = search(
            self.misfit,
            best.rho,
            ~self.fixed,
            most=self.most,
            progress=None if report is None else partial(report, 0),
        )
        self.evaluations += found.evaluations
        return found

    def _check(self, start: np.ndarray) -> None:
        """Check the data where the model can be simulated: number, units, observability."""
        fits = self.misfit.fits(start)
        self.evaluations += 1
        known = self.misfit.prior_information > 0.0
        self._check_count(sum(int(fit.there.sum()) for fit in fits))
        self.unobservable = unobservable_parameters(self.misfit, start, fits)
        hidden = np.isin(self.misfit.names, self.unobservable)
        self.fixed = self.fixed | (hidden & ~known)
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
        wanted = int((~self.fixed & (self.misfit.prior_information == 0.0)).sum())
        if data < max(wanted, 1):
            raise IdentificationError(
                f"There are {data} measured samples for {wanted} parameters without prior. Record "
                "more, fix parameters, or give them a prior."
            )


def start_at(parameters: Sequence[Parameter], values: Mapping[str, float]) -> tuple[Parameter, ...]:
    """The parameters with other starts.

    Raises:
        IdentificationError: A name is unknown, or a start outside its bounds.
    """
    names = [one.name for one in parameters]
    for name in values:
        if name not in names:
            raise IdentificationError(
                f"There is no parameter '{name}'. There are: {', '.join(names)}."
            )
    return tuple(replace(one, start=values.get(one.name, one.start)) for one in parameters)
