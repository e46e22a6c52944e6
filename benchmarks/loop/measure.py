"""The experiment of the identification paper: stiffness of a loop from an arm's touch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.loop.steepest_descent import GRADIENT, Descent, descend
from scenes.flexible_loop.motion import DURATION
from scenes.flexible_loop.problem import LoopProblem
from scenes.flexible_loop.recording import STIFFNESS, record
from sofa_softctl.identification.fitting.estimate import Estimate, estimate
from sofa_softctl.identification.mechanism import adjoint
from sofa_softctl.identification.mechanism.experiment import MechanismExperiment
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import Scaled, Spring
from sofa_softctl.identification.mechanism.problem import MechanismProblem
from sofa_softctl.identification.model.parameter import Parameter, starts
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.identification.uncertainty.identifiability import Identifiability, identifiability
from tests.support.perfect import perfect

LINKS = (12, 6)
"""Links of the paper's models."""
FEW_SAMPLES = 10
"""Samples that kernels are compiled with."""
FEW, MANY = 2, 100
"""Numbers of parameters of the sweeps whose times are compared."""


@dataclass(frozen=True, eq=False)
class Newton:
    """An estimate by Gauss-Newton."""

    found: Estimate
    """The parameters."""
    trust: Identifiability
    """Their covariance."""
    cost: float
    """J_d there, inputs as recorded [m^2]."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "evaluations": self.found.evaluations,
            "cost_after": self.cost,
            "rho": self.found.rho.tolist(),
            "low": self.trust.low.tolist(),
            "high": self.trust.high.tolist(),
            "deviation_outputs": np.sqrt(np.diag(self.trust.output_covariance)).tolist(),
            "deviation_inputs": np.sqrt(np.diag(self.trust.input_covariance)).tolist(),
            "seconds": self.found.seconds,
            "termination": self.found.termination.name,
        }


@dataclass(frozen=True, eq=False)
class Fitted:
    """One model of the recording, fitted by both methods."""

    links: int
    """Links of the model."""
    coordinates: int
    """Coordinates of arm and loop."""
    state_seconds: float
    """Time of a simulated step [s]."""
    gradient_seconds: float
    """Time of a gradient of all steps, with its simulation [s]."""
    descent: Descent
    """The paper's method."""
    newton: Newton
    """Gauss-Newton, inputs as recorded."""
    unknown: Newton
    """Gauss-Newton, with errors of the inputs as unknowns."""
    measured: np.ndarray
    """Positions of the hand, shape (n_times, 3)."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        first, last = self.descent.iterates[0], self.descent.iterates[-1]
        return {
            "links": self.links,
            "coordinates": self.coordinates,
            "state_seconds": self.state_seconds,
            "gradient_seconds": self.gradient_seconds,
            "descent": {
                "iterations": self.descent.iterations,
                "iterations_of_the_paper": self.descent.until(GRADIENT),
                "cost_before": first.cost,
                "cost_after": last.cost,
                "gradient_norm": last.gradient_norm,
                "relative_slope": last.relative_slope,
                "rho": last.rho.tolist(),
                "simulations": self.descent.simulations + self.descent.gradients,
                "seconds": self.descent.seconds,
                "termination": self.descent.termination.name,
            },
            "gauss_newton": self.newton.to_dict(),
            "unknown_inputs": self.unknown.to_dict(),
        }


@dataclass(frozen=True, eq=False)
class Study:
    """The experiment of section IV with a simulated recording: the paper's is not public."""

    recordings: tuple[tuple[Fitted, ...], ...]
    """Models of 12 and 6 links, of each recording."""
    recovered: float
    """Largest relative error of the parameters from a perfect recording [-]."""
    adjoint_ratio: float
    """Time of an adjoint sweep with 100 parameters over that with 2 [-]."""

    @property
    def fits(self) -> tuple[Fitted, ...]:
        """Of the first recording."""
        return self.recordings[0]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "recordings": [[each.to_dict() for each in fits] for fits in self.recordings],
            "truth": list(STIFFNESS),
            "recovered": self.recovered,
            "adjoint_ratio": self.adjoint_ratio,
        }


def measure_identification(
    progress: Callable[[str], None] | None = None,
    *,
    seeds: int = 1,
    links: Sequence[int] = LINKS,
    duration: float = DURATION,
    iterations: int = 200,
) -> Study:
    """Record the motion, and fit both models of the paper to each recording.

    Args:
        progress: Called with a line of text now and then.
        seeds: Recordings, each with noise of its own.
        links: Of the models.
        duration: Of the recorded motion [s].
        iterations: Limit of the steepest descent.
    """
    report = progress or (lambda line: None)
    report("recording: an arm and a loop of 24 links, steps of 1 ms")
    made = [record(seed=seed, duration=duration) for seed in range(seeds)]
    fits = tuple(
        tuple(_fitted(LoopProblem(n), one, iterations, report) for n in links) for one in made
    )
    first = LoopProblem(links[0])
    report(f"{first.name}: a perfect recording, sweeps with 100 parameters")
    return Study(fits, _recovered(first, made[0]), _adjoint_ratio(first, made[0]))


def _fitted(
    problem: LoopProblem, recording: Recording, iterations: int, report: Callable[[str], None]
) -> Fitted:
    report(f"{problem.name}: compiling and timing")
    _compile(problem, recording)
    experiment = problem.experiment(recording)
    first = starts(problem.parameters)
    state, gradient = _simulation_seconds(experiment, first)

    def step(iteration: int, cost: float, norm: float) -> None:
        report(f"{problem.name}: steepest descent {iteration}, cost {cost:.5f}, slope {norm:.2g}")

    descent = descend([experiment], gradient_norm=0.0, most=iterations, progress=step)
    report(f"{problem.name}: Gauss-Newton")
    newton = _newton(experiment, exact_inputs=True)
    report(f"{problem.name}: Gauss-Newton, errors of the inputs as unknowns")
    return Fitted(
        links=problem.links,
        coordinates=len(problem.mechanism.coordinates),
        state_seconds=state / experiment.steps,
        gradient_seconds=gradient,
        descent=descent,
        newton=newton,
        unknown=_newton(experiment, exact_inputs=False),
        measured=experiment.measured,
    )


def _compile(problem: LoopProblem, recording: Recording) -> None:
    """All kernels, by fits to the first few samples: times are of work alone."""
    few = slice(FEW_SAMPLES)
    short = replace(
        recording,
        time=recording.time[few],
        inputs=recording.inputs[few],
        outputs=recording.outputs[few],
    )
    experiment = problem.experiment(short)
    descend([experiment], most=1)
    for exact_inputs in (True, False):
        _newton(experiment, exact_inputs=exact_inputs)


def _newton(experiment: MechanismExperiment, *, exact_inputs: bool) -> Newton:
    found = estimate([experiment], exact_inputs=exact_inputs)
    return Newton(found, identifiability(found, [experiment]), _cost(experiment, found.rho))


def _cost(experiment: MechanismExperiment, rho: np.ndarray) -> float:
    """J_d: squared errors of all samples, the last one twice."""
    squares = ((experiment.outputs(rho) - experiment.measured) ** 2).sum(axis=1)
    return float(squares[1:].sum() + squares[-1])


def _simulation_seconds(experiment: MechanismExperiment, rho: np.ndarray) -> tuple[float, float]:
    """Time of a simulation, and of one with an adjoint sweep; a new rho is never in memory."""
    begin = perf_counter()
    experiment.outputs(rho * (1.0 + 1e-6))
    middle = perf_counter()
    experiment.pull_back(rho * (1.0 + 2e-6), lambda y: 2.0 * (y - experiment.measured))
    return middle - begin, perf_counter() - middle


def _recovered(problem: LoopProblem, recording: Recording) -> float:
    """Relative error of parameters from a recording of the model itself."""
    truth = np.array(STIFFNESS)
    exact = problem.experiment(perfect(problem, truth, recording))
    return float(np.abs(estimate([exact], exact_inputs=True).rho / truth - 1.0).max())


def _adjoint_ratio(problem: LoopProblem, recording: Recording, repeats: int = 3) -> float:
    """Adjoint sweeps of one motion: springs in parallel that share their stiffness."""
    times, given = [], problem.experiment(recording).problem
    assert isinstance(given, MechanismProblem)
    for count in (FEW, MANY):
        mechanism = _divided(problem.mechanism, count)
        experiment = replace(given, mechanism=mechanism).experiment(recording)
        rho = starts(mechanism.parameters)
        motion, drive = experiment.trajectory(rho), experiment.drive(rho)
        start, covector = experiment.start(rho), np.ones_like(motion.q)
        cost = adjoint.Cost(0.0, covector, np.zeros_like(covector), np.zeros(count))
        best = np.inf
        for _ in range(repeats):
            begin = perf_counter()
            adjoint.gradient(mechanism, rho, start, drive, motion, cost)
            best = min(best, perf_counter() - begin)
        times.append(best)
    return times[1] / times[0]


def _divided(mechanism: Mechanism, count: int) -> Mechanism:
    """The mechanism with the stiffness of its springs split into `count` parameters."""
    springs = list(mechanism.springs)
    shares = [springs[k % len(springs)] for k in range(max(count, len(springs)))]
    per_joint = np.bincount([k % len(springs) for k in range(len(shares))])
    parameters = tuple(Parameter(f"k{k}", 5.0) for k in range(count))
    split = [
        Spring(one.joint, Scaled(f"k{k % count}", 1.0 / per_joint[k % len(springs)]))
        for k, one in enumerate(shares)
    ]
    return replace(mechanism, springs=split, parameters=parameters)
