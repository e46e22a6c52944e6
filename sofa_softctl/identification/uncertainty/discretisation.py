"""Error of the discretisation: the parameters that the same data give with a finer model.

An estimate belongs to the time step and the mesh of its model. From it, each finer model is fitted
to the same data by a few Gauss-Newton steps; noise has nearly the same effect on both, so their
difference is the effect of the refinement. Halving step or elements removes 1 - 2^-p of an error of
order p. Extrapolating the difference accordingly (Richardson) estimates the whole error.

Source: Roache 1994, "Perspective: a method for uniform reporting of grid refinement studies".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from sofa_softctl.errors import SimulationError, SoftctlError
from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.fitting.joint_search import approach, current_states, set_states
from sofa_softctl.identification.fitting.residual import StackedResidual
from sofa_softctl.identification.model.experiment import Experiment, Refinement
from sofa_softctl.identification.uncertainty.identifiability import Identifiability


@dataclass(frozen=True)
class BudgetSettings:
    """Effort spent on finer models."""

    steps_max: int = 5
    """Largest number of Gauss-Newton steps with a finer model."""
    typical_simulation_count: float = 4.0
    """Typical number of simulations of these steps, for estimating their time."""
    time_max: float = 60.0
    """Duration below which a refinement is always made [s]."""
    time_ratio_max: float = 20.0
    """Duration of a refinement, relative to the estimate, below which it is always made [-]."""


SETTINGS = BudgetSettings()


@dataclass(frozen=True, eq=False)
class Shift:
    """Change of an estimate by a finer discretisation."""

    refinement: Refinement
    """Refinement of the model."""
    rho: np.ndarray
    """Parameters that fit the data with the finer model [unit of each], shape (n_rho,)."""
    change: np.ndarray
    """Change from the estimate, 0 for parameters that are not fitted [units], shape (n_rho,)."""
    decrease: float
    """Decrease of the cost [-]."""
    converged: bool
    """True if the few steps ended at a minimum; otherwise the change is a lower estimate."""
    seconds: float
    """Wall time [s]."""

    @property
    def limit(self) -> np.ndarray:
        """Extrapolated change by a discretisation without error [units], shape (n_rho,)."""
        return self.change * self.refinement.error_per_change

    @property
    def whole_decrease(self) -> float:
        """Extrapolated decrease of the cost, which is quadratic in the error [-]."""
        return self.decrease / (1.0 - 0.25**self.refinement.order)


@dataclass(frozen=True, eq=False)
class DiscretisationBudget:
    """Changes of an estimate by finer discretisations, in addition to its intervals."""

    names: tuple[str, ...]
    """Names of the parameters."""
    shifts: tuple[Shift, ...]
    """Change by each refinement."""
    left_out: tuple[str, ...] = ()
    """Sentences on refinements that were not made, with the reason."""

    def widened(self, trust: Identifiability) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper ends of intervals of noise and discretisation, (n_rho,) [units].

        They reach from low + sum_k min(0, d_k) to high + sum_k max(0, d_k), d_k the extrapolated
        change by refinement k: the interval of noise, shifted by any fraction of these errors.
        """
        limits = np.array([shift.limit for shift in self.shifts]).reshape(-1, len(self.names))
        return (
            trust.low + np.minimum(limits, 0.0).sum(axis=0),
            trust.high + np.maximum(limits, 0.0).sum(axis=0),
        )

    def to_dict(self, trust: Identifiability) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        low, high = self.widened(trust)
        half_width = 0.5 * (trust.high - trust.low)
        intervals = zip(self.names, low.tolist(), high.tolist(), strict=True)
        return {
            "intervals": {name: {"low": a, "high": b} for name, a, b in intervals},
            "refinements": [
                {
                    "name": shift.refinement.name,
                    "text": shift.refinement.text,
                    "order": shift.refinement.order,
                    "decrease": shift.decrease,
                    "converged": shift.converged,
                    "seconds": shift.seconds,
                    "parameters": {
                        name: {
                            "value": float(shift.rho[i]),
                            "change": float(shift.change[i]),
                            "change_in_half_widths": float(_ratio(shift.change[i], half_width[i])),
                            "extrapolated_change": float(shift.limit[i]),
                        }
                        for i, name in enumerate(self.names)
                    },
                }
                for shift in self.shifts
            ],
            "left_out": list(self.left_out),
        }


def _ratio(change: float, half_width: float) -> float:
    return float(change / half_width) if half_width > 0.0 else float("nan")


def discretisation_budget(
    estimate: Estimate,
    experiments: Sequence[Experiment],
    *,
    limit: bool = True,
    progress: Callable[[str], None] | None = None,
) -> DiscretisationBudget:
    """Fit finer models of the same runs to the data, from the estimate.

    Args:
        estimate: Estimate from the experiments, by Gauss-Newton.
        experiments: Experiments as they were given to the estimate.
        limit: Leave out refinements that take longer than a minute and than twenty estimates.
        progress: Called with a description of each fit before it starts.
    """
    experiments = [Experiment.checked(experiment) for experiment in experiments]
    offered_refinements: dict[str, list[Refinement | None]] = {}
    for k, experiment in enumerate(experiments):
        for refinement in experiment.refinements():
            offered_refinements.setdefault(refinement.name, [None] * len(experiments))[k] = (
                refinement
            )
    reason = _reason_without_budget(estimate)
    if offered_refinements and reason:
        return DiscretisationBudget(estimate.names, (), (reason,))
    shifts, left_out = list[Shift](), list[str]()
    simulation_time = _time_simulation(estimate) if offered_refinements else 0.0
    for refinements in offered_refinements.values():
        first = next(refinement for refinement in refinements if refinement is not None)
        seconds = SETTINGS.typical_simulation_count * simulation_time * first.cost
        if limit and seconds > max(SETTINGS.time_max, SETTINGS.time_ratio_max * estimate.seconds):
            left_out.append(
                f"The error by the {first.of} was not estimated: that takes about {seconds:.0f} s. "
                "--budget does it all the same."
            )
            continue
        if progress is not None:
            progress(f"fitting again {first.text}, about {max(seconds, 1.0):.0f} s")
        try:
            shifts.append(_shift(estimate, experiments, refinements, first))
        except SoftctlError as error:
            left_out.append(f"The error by the {first.of} was not estimated. {error}")
    return DiscretisationBudget(estimate.names, tuple(shifts), tuple(left_out))


def _reason_without_budget(estimate: Estimate) -> str:
    """Return the reason for not computing a budget of an estimate, or ""."""
    text = "The error of the discretisation was not estimated: "
    if not estimate.status.ok:
        return f"{text}the search did not converge."
    return f"{text}no parameter was fitted." if not estimate.free.any() else ""


def _time_simulation(estimate: Estimate) -> float:
    """Measure the wall time of a simulation of all experiments with derivatives [s]."""
    misfit = StackedResidual(estimate.experiments, estimate.parameters)
    states, began = current_states(misfit), perf_counter()
    try:
        misfit.fits(estimate.rho * (1.0 + 1e-7))  # the same parameters are cached
    except SimulationError:  # a failed simulation takes about as long
        pass
    finally:
        set_states(misfit, states)
    return perf_counter() - began


def _shift(
    estimate: Estimate,
    experiments: Sequence[Experiment],
    refinements: Sequence[Refinement | None],
    first: Refinement,
) -> Shift:
    """Fit the finer experiments, those that have the refinement, from the estimate."""
    began = perf_counter()
    finer_experiments = [
        experiment if refinement is None else Experiment.checked(refinement.make())
        for experiment, refinement in zip(experiments, refinements, strict=True)
    ]
    misfit = stack_like_estimate(estimate, finer_experiments)
    rho, steps, cost = approach(misfit, estimate.rho, estimate.free, steps_max=SETTINGS.steps_max)
    return Shift(
        refinement=first,
        rho=rho,
        change=rho - estimate.rho,
        decrease=estimate.cost - cost,
        converged=steps < SETTINGS.steps_max,
        seconds=perf_counter() - began,
    )


def stack_like_estimate(estimate: Estimate, experiments: Sequence[Experiment]) -> StackedResidual:
    """Return residuals of other experiments, with unknown inputs and noise as in an estimate.

    Raises:
        SimulationError: An experiment cannot have unknown inputs.
    """
    pairs = zip(estimate.experiments, experiments, strict=True)
    refined = [
        _with_unknown_inputs(experiment) if fitted.unknowns else experiment
        for fitted, experiment in pairs
    ]
    if not estimate.noise_estimated:
        return StackedResidual(refined, estimate.parameters)
    declared = {
        channel.name: channel.deviation
        for experiment in estimate.experiments
        for channel in experiment.channels
    }
    estimated = {
        channel.name: channel.deviation for fit in estimate.fits for channel in fit.channels
    }
    deviations = {
        channel.name: channel.deviation * estimated[channel.name] / declared[channel.name]
        for experiment in refined
        for channel in experiment.channels
    }
    return StackedResidual(refined, estimate.parameters, deviations=deviations)


def _with_unknown_inputs(experiment: Experiment) -> Experiment:
    with_unknowns = experiment.with_unknown_inputs()
    if with_unknowns is None:
        raise SimulationError(f"{experiment.name}: the finer model has no unknown inputs.")
    return with_unknowns
