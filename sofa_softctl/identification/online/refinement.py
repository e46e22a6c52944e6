"""One refinement of parameters from a window of samples and the arrival cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from scipy import stats

from sofa_softctl.errors import IdentificationError, SimulationError
from sofa_softctl.identification.data.assemble import assemble
from sofa_softctl.identification.data.table import Table
from sofa_softctl.identification.fitting.estimate import Estimate, estimate, start_at
from sofa_softctl.identification.fitting.gauss_newton import Termination
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter, Prior
from sofa_softctl.identification.model.problem import Problem
from sofa_softctl.identification.online.arrival_cost import ArrivalCost, LinearisedWindow
from sofa_softctl.identification.uncertainty.identifiability import (
    CONFIDENCE,
    Identifiability,
    identifiability,
    information,
)

SIGNIFICANCE_LEVEL = 1e-4
"""Probability of forgetting earlier samples in a fit without a cause [-]."""
DETERMINED_RATIO_MAX = 0.2
"""Deviation of a parameter relative to its scale, up to which it counts as determined [-]."""
FORGOTTEN = (
    "The samples before the window contradict it and are forgotten: the robot has changed, or the "
    "model is wrong."
)
USED = (Termination.CONVERGED, Termination.AT_BOUND, Termination.EXHAUSTED)
"""Status of accepted searches; an exhausted one continues in the next refinement."""


@dataclass(frozen=True, eq=False)
class WindowTask:
    """Arguments of a refinement; can be sent to another process."""

    problem: Problem
    """The identification problem."""
    parameters: tuple[Parameter, ...]
    """Parameters of the problem, with priors."""
    table: Table
    """Samples of the window."""
    rho: np.ndarray
    """Initial parameters, shape (n_rho,)."""
    memory: ArrivalCost
    """Information of earlier samples."""
    inflation: np.ndarray | None
    """`LinearisedWindow.inflation` of the last window, or None."""
    misfit: float
    """Misfit of the last fit, at least 1 [-]: above, the model misses its samples anyhow."""
    most: int
    """Limit of evaluations."""


@dataclass(frozen=True, eq=False)
class WindowEstimate:
    """Result of a refinement."""

    begin: float
    """Begin of the window [s]."""
    end: float
    """End of the window [s]."""
    rho: np.ndarray
    """Parameters; the initial ones if it failed, shape (n_rho,)."""
    half_width: np.ndarray
    """Half-widths of the 95 % intervals, infinite if not identifiable, shape (n_rho,)."""
    termination: Termination | None
    """Reason why the search ended, or None if it failed."""
    message: str
    """Termination or failure as a sentence, and warnings."""
    misfit: float
    """Mean square of the window's residuals in standard deviations [-]: 1 for noise only."""
    rows: LinearisedWindow | None
    """The linearised samples of the window; None if it failed."""
    forgets: bool
    """Whether the window contradicts the earlier samples, which are not used."""
    seconds: float
    """Wall time [s]."""

    @property
    def is_accepted(self) -> bool:
        """True if the parameters are accepted."""
        return self.termination in USED and bool(np.isfinite(self.rho).all())


def with_priors(parameters: tuple[Parameter, ...], doubt: float) -> tuple[Parameter, ...]:
    """Return the parameters with priors around their starts, of deviation doubt * scale.

    Without them, noise would determine parameters that hardly affect the first motions.
    """
    if math.isinf(doubt):
        return parameters
    return tuple(
        replace(parameter, prior=parameter.prior or Prior(parameter.start, doubt * parameter.scale))
        for parameter in parameters
    )


def refine_parameters(task: WindowTask) -> WindowEstimate:
    """Fit the parameters to the window and the arrival cost.

    Minimise the window's squared residuals, weighted by noise, plus the arrival cost: the result of
    `estimate` from all samples, except for the linearisation of earlier ones.
    """
    began = perf_counter()
    time = task.table.columns["time"]
    begin, end = float(time[0]), float(time[-1])
    try:
        result, half_width, rows, forgets = _estimate_window(task)
    except (IdentificationError, SimulationError) as error:
        infinite_widths = np.full(len(task.rho), np.inf)
        duration = perf_counter() - began
        return WindowEstimate(
            begin, end, task.rho, infinite_widths, None, str(error), np.nan, None, False, duration
        )
    residuals = result.fits[0].rows[0]
    return WindowEstimate(
        begin=begin,
        end=end,
        rho=result.rho,
        half_width=half_width,
        termination=result.termination,
        message=" ".join([result.message, *result.warnings, *[FORGOTTEN] * forgets]),
        misfit=float(residuals @ residuals) / max(len(residuals), 1),
        rows=rows,
        forgets=forgets,
        seconds=perf_counter() - began,
    )


def _estimate_window(task: WindowTask) -> tuple[Estimate, np.ndarray, LinearisedWindow, bool]:
    """Return the estimate, half-widths, linearised samples, and whether earlier ones are dropped.

    They are dropped if the window contradicts them, see `_contradicts`.
    """
    problem = task.problem
    recording = assemble(task.table, problem.inputs, problem.channels, rate=problem.rate)
    experiments: list[Experiment] = [problem.experiment(recording)]
    if task.memory.information.any():
        experiments.append(task.memory.experiment(task.parameters))
    inflation, rho = task.inflation, task.rho
    if inflation is None:  # determined by a first fit
        result, trust = _fit(task, experiments, rho, np.ones(len(rho)))
        inflation, rho = _inflation(result, trust), result.rho
    memory = task.memory
    result, trust = _fit(task, experiments, rho, inflation)
    rows = LinearisedWindow.from_fit(result.fits[0], result.rho, _inflation(result, trust))
    forgets = _contradicts(result, rows, memory, task.misfit)
    if forgets:
        memory = ArrivalCost.none(len(rho))
        result, trust = _fit(task, experiments[:1], result.rho, inflation)
        rows = LinearisedWindow.from_fit(result.fits[0], result.rho, _inflation(result, trust))
    return result, half_widths(result, trust, memory, inflation), rows, forgets


def _contradicts(
    result: Estimate, rows: LinearisedWindow, memory: ArrivalCost, misfit: float
) -> bool:
    """Return True if the window and the earlier samples are of different parameters.

    The earlier samples are linearised at earlier estimates, so only parameters count that both
    determine well.
    """
    window = rows.cost_before(np.inf)
    by_window, by_memory = _optimum(window), _optimum(memory)
    deviations = np.sqrt(np.maximum([np.diag(by_window[1]), np.diag(by_memory[1])], 0.0))
    scales = np.array([parameter.scale for parameter in result.parameters])
    is_determined = np.all(
        (deviations > 0.0) & (deviations < DETERMINED_RATIO_MAX * scales), axis=0
    )
    return _differ(by_window, by_memory, is_determined, misfit)


def _optimum(cost: ArrivalCost) -> tuple[np.ndarray, np.ndarray]:
    """Return the parameters of least cost, and their covariance; 0 without information."""
    units = np.sqrt(np.diag(cost.information))
    units[units == 0.0] = 1.0
    scale = np.outer(units, units)
    inverse = np.linalg.pinv(cost.information / scale, rcond=1e-12, hermitian=True) / scale
    return inverse @ cost.b, inverse @ cost.spread @ inverse


def _differ(
    first: tuple[np.ndarray, np.ndarray],
    second: tuple[np.ndarray, np.ndarray],
    counts: np.ndarray,
    misfit: float,
) -> bool:
    """Return True if two estimates, with covariances C, are of different parameters.

    The squared difference over C_1 + C_2 is chi-squared for the same parameters. A model that
    misses its samples by more than their noise, with a `misfit` above 1, may differ by so much
    more.
    """
    if not counts.any():
        return False
    d, C = (first[0] - second[0])[counts], (first[1] + second[1])[np.ix_(counts, counts)]
    limit = misfit * stats.chi2.isf(SIGNIFICANCE_LEVEL, len(d))
    return bool(d @ np.linalg.solve(C, d) > limit)


def _fit(
    task: WindowTask, experiments: list[Experiment], rho: np.ndarray, inflation: np.ndarray
) -> tuple[Estimate, Identifiability]:
    """Estimate from rho, or from the starts if that fails, with priors scaled by the inflation."""
    parameters = tuple(
        replace(parameter, prior=Prior(parameter.prior.mean, parameter.prior.deviation / d))
        if parameter.prior
        else parameter
        for parameter, d in zip(task.parameters, inflation.tolist(), strict=True)
    )
    values = dict(zip((parameter.name for parameter in parameters), rho.tolist(), strict=True))
    try:
        result = estimate(
            experiments, start_at(parameters, values), exact_inputs=True, evaluations_max=task.most
        )
    except IdentificationError:  # the window may not be simulated from there
        result = estimate(experiments, parameters, exact_inputs=True, evaluations_max=task.most)
    return result, identifiability(result, experiments)


def half_widths(
    result: Estimate, trust: Identifiability, memory: ArrivalCost, inflation: np.ndarray
) -> np.ndarray:
    """Half-widths of the 95 % intervals, shape (n_rho,).

    C = A^-1 (A + S + M - F + Q) A^-1: A is the information of window, priors and arrival cost, S
    the covariance of the gradient from noise of the window's inputs, M - F the same of the arrival
    cost, and Q corrects for priors that count `inflation`^2 times.
    """
    C = np.nan_to_num(trust.output_covariance, posinf=0.0)
    prior_information = np.diag((inflation**2 - 1.0) * result.prior_information)
    added_covariance = C @ (memory.spread - memory.information + prior_information) @ C
    variance = np.diag(trust.covariance + added_covariance)
    deviations = stats.norm.ppf(0.5 + CONFIDENCE / 2.0)
    width: np.ndarray = deviations * np.sqrt(np.where(np.isfinite(variance), variance, np.inf))
    return width


def _inflation(result: Estimate, trust: Identifiability) -> np.ndarray:
    """Standard deviation of the window's gradient relative to noise of outputs only."""
    A = information(result) + np.diag(result.prior_information)
    from_inputs = np.nan_to_num(np.diag(A @ trust.input_covariance @ A))
    from_outputs = (result.fits[0].rows[1] ** 2).sum(axis=0)
    return np.sqrt(1.0 + from_inputs / np.where(from_outputs > 0.0, from_outputs, np.inf))
