"""One refinement of parameters from a window of samples and the arrival cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from scipy import stats

from sofa_softctl.errors import IdentificationError, SimulationError
from sofa_softctl.identification.data.recording import assemble
from sofa_softctl.identification.data.table import Table
from sofa_softctl.identification.fitting.estimate import Estimate, estimate, start_at
from sofa_softctl.identification.fitting.gauss_newton import Termination
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter, Prior
from sofa_softctl.identification.model.problem import Problem
from sofa_softctl.identification.online.arrival_cost import ArrivalCost, Linearised
from sofa_softctl.identification.uncertainty.identifiability import (
    CONFIDENCE,
    Identifiability,
    identifiability,
    information,
)

USED = (Termination.CONVERGED, Termination.AT_BOUND, Termination.EXHAUSTED)
"""Status of accepted searches; an exhausted one continues in the next refinement."""


@dataclass(frozen=True, eq=False)
class Task:
    """Arguments of a refinement; can be sent to another process."""

    problem: Problem
    """The identification problem."""
    parameters: tuple[Parameter, ...]
    """Its parameters, with priors."""
    table: Table
    """Samples of the window."""
    rho: np.ndarray
    """Initial parameters, shape (n_rho,)."""
    memory: ArrivalCost
    """Information of earlier samples."""
    inflation: np.ndarray | None
    """`Linearised.inflation` of the last window; None: there was none."""
    most: int
    """Limit of evaluations."""


@dataclass(frozen=True, eq=False)
class Refinement:
    """Result of a refinement."""

    begin: float
    """Begin of the window [s]."""
    end: float
    """End of the window [s]."""
    rho: np.ndarray
    """Parameters; the initial ones if it failed, shape (n_rho,)."""
    half_width: np.ndarray
    """Half-widths of their 95 % intervals; infinite if not identifiable, shape (n_rho,)."""
    termination: Termination | None
    """Reason why the search ended; None: it failed."""
    message: str
    """The same as a sentence, or why it failed; and warnings."""
    misfit: float
    """Mean square of the window's residuals in standard deviations [-]: 1 for noise alone."""
    rows: Linearised | None
    """The linearised samples of the window; None if it failed."""
    seconds: float
    """Wall time [s]."""

    @property
    def used(self) -> bool:
        """Whether the parameters are accepted."""
        return self.termination in USED and bool(np.isfinite(self.rho).all())


def with_priors(parameters: tuple[Parameter, ...], doubt: float) -> tuple[Parameter, ...]:
    """With a prior around the start where there is none, its deviation a share of the scale.

    Without it, noise alone determines parameters that the first motions hardly depend on.
    """
    if math.isinf(doubt):
        return parameters
    return tuple(
        replace(parameter, prior=parameter.prior or Prior(parameter.start, doubt * parameter.scale))
        for parameter in parameters
    )


def refine(task: Task) -> Refinement:
    """Fit the parameters to the window and the arrival cost.

    Minimises the window's squared residuals, weighted by noise, plus the arrival cost: the result
    of `estimate` from all samples at once, except for the linearisation of earlier ones.
    """
    began = perf_counter()
    time = task.table.columns["time"]
    begin, end = float(time[0]), float(time[-1])
    try:
        found, half_width, rows = _estimated(task)
    except (IdentificationError, SimulationError) as error:
        unknown = np.full(len(task.rho), np.inf)
        taken = perf_counter() - began
        return Refinement(begin, end, task.rho, unknown, None, str(error), np.nan, None, taken)
    residuals = found.fits[0].rows[0]
    return Refinement(
        begin=begin,
        end=end,
        rho=found.rho,
        half_width=half_width,
        termination=found.termination,
        message=" ".join([found.message, *found.warnings]),
        misfit=float(residuals @ residuals) / max(len(residuals), 1),
        rows=rows,
        seconds=perf_counter() - began,
    )


def _estimated(task: Task) -> tuple[Estimate, np.ndarray, Linearised]:
    """The estimate, half-widths, and the linearised samples of the window."""
    problem = task.problem
    recording = assemble(task.table, problem.inputs, problem.channels, rate=problem.rate)
    experiments: list[Experiment] = [problem.experiment(recording)]
    if task.memory.information.any():
        experiments.append(task.memory.experiment(task.parameters))
    inflation, rho = task.inflation, task.rho
    if inflation is None:  # determined by a first fit
        found, trust = _fit(task, experiments, rho, np.ones(len(rho)))
        inflation, rho = _inflation(found, trust), found.rho
    found, trust = _fit(task, experiments, rho, inflation)
    rows = Linearised.of(found.fits[0], found.rho, _inflation(found, trust))
    return found, half_widths(found, trust, task.memory, inflation), rows


def _fit(
    task: Task, experiments: list[Experiment], rho: np.ndarray, inflation: np.ndarray
) -> tuple[Estimate, Identifiability]:
    """Estimate from rho, or else from the starts, with priors scaled by the inflation."""
    parameters = tuple(
        replace(parameter, prior=Prior(parameter.prior.mean, parameter.prior.deviation / d))
        if parameter.prior
        else parameter
        for parameter, d in zip(task.parameters, inflation.tolist(), strict=True)
    )
    values = dict(zip((parameter.name for parameter in parameters), rho.tolist(), strict=True))
    try:
        found = estimate(
            experiments, start_at(parameters, values), exact_inputs=True, most=task.most
        )
    except IdentificationError:  # the window may not be simulated from there
        found = estimate(experiments, parameters, exact_inputs=True, most=task.most)
    return found, identifiability(found, experiments)


def half_widths(
    found: Estimate, trust: Identifiability, memory: ArrivalCost, inflation: np.ndarray
) -> np.ndarray:
    """Half-widths of the 95 % intervals, shape (n_rho,).

    C = A^-1 (A + S + M - F + Q) A^-1: A is the information of window, priors and arrival cost, S
    the covariance of the gradient from noise of the window's inputs, M - F the same of the arrival
    cost, and Q corrects for priors that count `inflation`^2 times.
    """
    C = np.nan_to_num(trust.output_covariance, posinf=0.0)
    of_priors = np.diag((inflation**2 - 1.0) * found.prior_information)
    more = C @ (memory.spread - memory.information + of_priors) @ C
    variance = np.diag(trust.covariance + more)
    reach = stats.norm.ppf(0.5 + CONFIDENCE / 2.0)
    width: np.ndarray = reach * np.sqrt(np.where(np.isfinite(variance), variance, np.inf))
    return width


def _inflation(found: Estimate, trust: Identifiability) -> np.ndarray:
    """Standard deviation of the window's gradient relative to noise of outputs alone."""
    A = information(found) + np.diag(found.prior_information)
    through = np.nan_to_num(np.diag(A @ trust.input_covariance @ A))
    own = (found.fits[0].rows[1] ** 2).sum(axis=0)
    return np.sqrt(1.0 + through / np.where(own > 0.0, own, np.inf))
