"""Error of the discretisation: the parameters that the same data give with a finer model.

An estimate belongs to the time step and the mesh of its model. From it, each finer model is fitted
to the same data by a few Gauss-Newton steps; noise has nearly the same effect on both, so their
difference is the effect of the refinement. One that halves step or elements removes 1 - 2^-p of an
error of order p. Extrapolated by that (Richardson), it gives the whole error, as an estimate.

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
from sofa_softctl.identification.fitting.joint_search import approach, keep, kept
from sofa_softctl.identification.fitting.residual import StackedResidual
from sofa_softctl.identification.model.effect import Refinement
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.uncertainty.identifiability import Identifiability

STEPS = 5
"""Most Gauss-Newton steps with a finer model."""
TYPICAL = 4.0
"""Simulations that they take, for the estimated time."""
NUDGE = 1e-7
"""Relative change of the parameters, to time a simulation."""
SOON, TIMES = 60.0, 20.0
"""A refinement is left out if it takes longer than this [s], and than so many estimates."""


@dataclass(frozen=True, eq=False)
class Shift:
    """Change of an estimate by a finer discretisation."""

    refinement: Refinement
    """What was made finer."""
    rho: np.ndarray
    """Parameters that fit the data with it [unit of each], shape (n_rho,)."""
    change: np.ndarray
    """Those less the estimate, 0 for parameters that were held [units], shape (n_rho,)."""
    decrease: float
    """Decrease of the cost by it [-]."""
    converged: bool
    """Whether its few steps ended at a minimum; otherwise the change is a lower estimate."""
    seconds: float
    """Wall time [s]."""

    @property
    def limit(self) -> np.ndarray:
        """Extrapolated change by a discretisation without error [units], shape (n_rho,)."""
        found: np.ndarray = self.change * self.refinement.whole
        return found

    @property
    def whole_decrease(self) -> float:
        """Extrapolated decrease of the cost, which is square in the error [-]."""
        return self.decrease / (1.0 - 0.25**self.refinement.order)


@dataclass(frozen=True, eq=False)
class DiscretisationBudget:
    """Changes of an estimate by finer discretisations, beside its intervals."""

    names: tuple[str, ...]
    """Names of the parameters."""
    shifts: tuple[Shift, ...]
    """Of each refinement."""
    left_out: tuple[str, ...] = ()
    """Sentences on refinements that were not made, and why."""

    def widened(self, trust: Identifiability) -> tuple[np.ndarray, np.ndarray]:
        """Intervals of noise and discretisation, lower and upper ends [units], shape (n_rho,) each.

        From low + sum_k min(0, d_k) to high + sum_k max(0, d_k), d_k the extrapolated change by
        refinement k: the interval of noise, moved by any share of any of these errors.
        """
        limits = np.array([one.limit for one in self.shifts]).reshape(-1, len(self.names))
        return (
            trust.low + np.minimum(limits, 0.0).sum(axis=0),
            trust.high + np.maximum(limits, 0.0).sum(axis=0),
        )

    def to_dict(self, trust: Identifiability) -> dict[str, Any]:
        """For JSON."""
        low, high = self.widened(trust)
        half = 0.5 * (trust.high - trust.low)
        each = zip(self.names, low.tolist(), high.tolist(), strict=True)
        return {
            "intervals": {name: {"low": a, "high": b} for name, a, b in each},
            "refinements": [
                {
                    "name": one.refinement.name,
                    "text": one.refinement.text,
                    "order": one.refinement.order,
                    "decrease": one.decrease,
                    "converged": one.converged,
                    "seconds": one.seconds,
                    "parameters": {
                        name: {
                            "value": float(one.rho[i]),
                            "change": float(one.change[i]),
                            "change_in_half_widths": float(_ratio(one.change[i], half[i])),
                            "extrapolated_change": float(one.limit[i]),
                        }
                        for i, name in enumerate(self.names)
                    },
                }
                for one in self.shifts
            ],
            "left_out": list(self.left_out),
        }


def _ratio(change: float, half: float) -> float:
    return float(change / half) if half > 0.0 else float("nan")


def discretisation_budget(
    estimate: Estimate,
    experiments: Sequence[Experiment],
    *,
    limit: bool = True,
    progress: Callable[[str], None] | None = None,
) -> DiscretisationBudget:
    """Fit finer models of the same runs to the data, from the estimate.

    Args:
        estimate: From the experiments, by Gauss-Newton.
        experiments: As they were given to the estimate.
        limit: Leave out refinements that take longer than a minute and than twenty estimates.
        progress: Called with what is being done.
    """
    experiments = [Experiment.checked(one) for one in experiments]
    offered: dict[str, list[Refinement | None]] = {}
    for k, experiment in enumerate(experiments):
        for one in experiment.refinements():
            offered.setdefault(one.name, [None] * len(experiments))[k] = one
    reason = _unfit(estimate)
    if offered and reason:
        return DiscretisationBudget(estimate.names, (), (reason,))
    shifts, left_out = list[Shift](), list[str]()
    once = _seconds(estimate) if offered else 0.0
    for each in offered.values():
        first = next(one for one in each if one is not None)
        seconds = TYPICAL * once * first.cost
        if limit and seconds > max(SOON, TIMES * estimate.seconds):
            left_out.append(
                f"The error by the {first.of} was not estimated: that takes about {seconds:.0f} s. "
                "--budget does it all the same."
            )
            continue
        if progress is not None:
            progress(f"fitting again {first.text}, about {max(seconds, 1.0):.0f} s")
        try:
            shifts.append(_shift(estimate, experiments, each, first))
        except SoftctlError as error:
            left_out.append(f"The error by the {first.of} was not estimated. {error}")
    return DiscretisationBudget(estimate.names, tuple(shifts), tuple(left_out))


def _unfit(estimate: Estimate) -> str:
    """Why an estimate has no budget; empty: it may have one."""
    text = "The error of the discretisation was not estimated: "
    if not estimate.status.ok:
        return f"{text}the search did not converge."
    return f"{text}no parameter was fitted." if not estimate.free.any() else ""


def _seconds(estimate: Estimate) -> float:
    """Wall time of a simulation of all experiments, with derivatives [s]."""
    misfit = StackedResidual(estimate.experiments, estimate.parameters)
    states, began = kept(misfit), perf_counter()
    try:
        misfit.fits(estimate.rho * (1.0 + NUDGE))  # the same parameters are cached
    except SimulationError:  # at the edge of what can be simulated: how long it took counts
        pass
    finally:
        keep(misfit, states)
    return perf_counter() - began


def _shift(
    estimate: Estimate,
    experiments: Sequence[Experiment],
    refinements: Sequence[Refinement | None],
    first: Refinement,
) -> Shift:
    """The estimate's change by a refinement of all experiments that have it."""
    began = perf_counter()
    finer = [
        own if one is None else Experiment.checked(one.make())
        for own, one in zip(experiments, refinements, strict=True)
    ]
    misfit = fitted_like(estimate, finer)
    rho, steps, cost = approach(misfit, estimate.rho, estimate.free, most=STEPS)
    return Shift(
        refinement=first,
        rho=rho,
        change=rho - estimate.rho,
        decrease=estimate.cost - cost,
        converged=steps < STEPS,
        seconds=perf_counter() - began,
    )


def fitted_like(estimate: Estimate, experiments: Sequence[Experiment]) -> StackedResidual:
    """Residuals of other experiments, with unknown inputs and noise as in an estimate.

    Raises:
        SimulationError: An experiment cannot have unknown inputs.
    """
    pairs = zip(estimate.experiments, experiments, strict=True)
    own = [_unknown(one) if fitted.unknowns else one for fitted, one in pairs]
    if not estimate.noise_estimated:
        return StackedResidual(own, estimate.parameters)
    declared = {
        channel.name: channel.deviation for one in estimate.experiments for channel in one.channels
    }
    found = {channel.name: channel.deviation for fit in estimate.fits for channel in fit.channels}
    deviations = {
        channel.name: channel.deviation * found[channel.name] / declared[channel.name]
        for one in own
        for channel in one.channels
    }
    return StackedResidual(own, estimate.parameters, deviations=deviations)


def _unknown(experiment: Experiment) -> Experiment:
    found = experiment.with_unknown_inputs()
    if found is None:
        raise SimulationError(f"{experiment.name}: the finer model has no unknown inputs.")
    return found
