"""Time to the same precision: exact derivatives, and finite differences of MuJoCo's rollouts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import process_time
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from benchmarks.mujoco.coverage import AWAY
from benchmarks.mujoco.record import record, with_noise
from benchmarks.mujoco.robots import Robot
from benchmarks.mujoco.rollouts import Rollouts
from sofa_softctl.identification.fitting.estimate import estimate, start_at
from sofa_softctl.identification.fitting.gauss_newton import SETTINGS
from sofa_softctl.identification.mechanism.experiment import MechanismExperiment
from sofa_softctl.identification.model.recording import Recording

NEAR = 0.1
"""Precision: from the search's own end [standard deviations of the estimate]."""
BOUND = 20.0
"""Bounds of MuJoCo's own search, which have to be finite: the start times and over this."""
STEP = 1e-6
"""Relative step at which MuJoCo's own search ends; its default, 1e-8, takes up to six times as long
without a use: parameters have deviations of 1e-3 and more [-]."""
FINE = 1e-3
"""Longest time step of MuJoCo in the search that others' ends are compared with [s]."""
Trace = list[tuple[float, np.ndarray]]
"""Processor time after each evaluation of a point [s], and the point."""


@dataclass(frozen=True, eq=False)
class Search:
    """One search for the parameters."""

    method: str
    """Key of `METHODS`."""
    near: float
    """Processor time until a point within `NEAR` of its end was evaluated [s]."""
    whole: float
    """Processor time of the whole search [s]."""
    simulations: int
    """Simulations; ours, which include derivatives, and MuJoCo's."""
    off: float
    """Largest distance of its end from that of the finest search [standard deviations]."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """All searches on one recording."""

    robot: str
    """Name of the robot."""
    coordinates: int
    """Number of coordinates."""
    parameters: int
    """Number of parameters."""
    searches: tuple[Search, ...]
    """In the order of `METHODS`."""


def compare(robot: Robot, seed: int = 0) -> Comparison:
    """Searches by all methods on one recording, from one start, on one thread.

    Forces are recorded exactly, so that all minimise the same sum of squares. Kernels are compiled
    before a search begins.

    Args:
        robot: With exact inputs, released from rest with all coordinates zero.
        seed: Of noise and start.
    """
    recording = with_noise(record(robot), robot, seed)
    off = np.random.default_rng([seed, 1]).uniform(-1.0, 1.0, len(robot.truth))
    start = robot.truth * AWAY**off
    fine = int(np.ceil(robot.problem.dt / FINE - 1e-9))
    best = _by_scipy(robot, recording, robot.truth, per_sample=fine, integrator="RK4").rho
    deviations = _deviations(robot.problem.experiment(recording), best)
    searches = []
    for name, method in METHODS.items():
        ended = method(robot, recording, start)
        far = [np.abs((point - ended.rho) / deviations).max() for _, point in ended.trace]
        near = next(k for k, distance in enumerate(far) if distance <= NEAR)
        off_best = float(np.abs((ended.rho - best) / deviations).max())
        seconds = ended.trace[near][0] - ended.began, ended.ended - ended.began
        searches.append(Search(name, *seconds, ended.simulations, off_best))
    coordinates = len(robot.problem.mechanism.coordinates)
    return Comparison(robot.problem.name, coordinates, len(best), tuple(searches))


class _Ended(NamedTuple):
    """The end of a search."""

    rho: np.ndarray
    trace: Trace
    simulations: int
    began: float
    ended: float


class _Traced(MechanismExperiment):
    """An experiment that remembers when it was evaluated where."""

    trace: Trace

    def sensitivities(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = super().sensitivities(rho)
        self.trace.append((process_time(), rho.copy()))
        return found


def _by_derivatives(robot: Robot, recording: Recording, start: np.ndarray) -> _Ended:
    """Gauss-Newton with exact derivatives of this package's own simulation."""
    began = process_time()
    experiment = _Traced(robot.problem, recording)
    experiment.trace = []
    names = [one.name for one in robot.problem.parameters]
    begin = start_at(robot.problem.parameters, dict(zip(names, start.tolist(), strict=True)))
    found = estimate([experiment], begin)
    return _Ended(found.rho, experiment.trace, found.evaluations, began, process_time())


def _by_scipy(
    robot: Robot, recording: Recording, start: np.ndarray, *, per_sample: int, integrator: str
) -> _Ended:
    """SciPy's trust region, with our tolerances, on rollouts."""
    began = process_time()
    rollouts = Rollouts(
        robot.problem, recording, start, per_sample=per_sample, integrator=integrator
    )
    found = least_squares(
        rollouts.residuals,
        np.ones(len(start)),
        jac=rollouts.jacobian,
        bounds=(0.0, np.inf),
        ftol=SETTINGS.cost_tolerance,
        xtol=SETTINGS.parameter_tolerance,
        gtol=SETTINGS.parameter_tolerance,
    )
    return _Ended(start * found.x, rollouts.trace, rollouts.simulations, began, process_time())


def _by_mujoco(
    robot: Robot, recording: Recording, start: np.ndarray, *, per_sample: int, integrator: str
) -> _Ended:
    """MuJoCo's own Levenberg-Marquardt search, on rollouts."""
    from mujoco import minimize

    began = process_time()
    rollouts = Rollouts(
        robot.problem, recording, start, per_sample=per_sample, integrator=integrator
    )
    one = np.ones(len(start))
    found, _ = minimize.least_squares(
        one,
        rollouts.residuals,
        bounds=[one / BOUND, one * BOUND],
        xtol=STEP,
        verbose=minimize.Verbosity.SILENT,
    )
    return _Ended(start * found, rollouts.trace, rollouts.simulations, began, process_time())


def _deviations(experiment: MechanismExperiment, rho: np.ndarray) -> np.ndarray:
    """Standard deviations of an estimate by noise of the outputs, shape (n_rho,)."""
    noise = np.array([one.deviation for one in experiment.channels])
    J = (experiment.sensitivities(rho)[1] / noise[:, None]).reshape(-1, len(rho))
    found: np.ndarray = np.sqrt(np.diag(np.linalg.inv(J.T @ J)))
    return found


Method = Callable[[Robot, Recording, np.ndarray], _Ended]
METHODS: dict[str, Method] = {
    "exact derivatives": _by_derivatives,
    "SciPy, RK4": partial(_by_scipy, per_sample=1, integrator="RK4"),
    "SciPy, implicitfast": partial(_by_scipy, per_sample=1, integrator="implicitfast"),
    "MuJoCo, RK4": partial(_by_mujoco, per_sample=1, integrator="RK4"),
}
"""Searches by name. Those with MuJoCo take one of its steps a sample, as ours."""
