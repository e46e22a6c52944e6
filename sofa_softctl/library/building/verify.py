"""Verification of a library on new random tasks, against their optima."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.base.processes import interrupted_after
from sofa_softctl.base.versions import one_blas_thread
from sofa_softctl.library.building.solving import TaskChain
from sofa_softctl.library.motions.entry import Entry
from sofa_softctl.library.motions.library import CANDIDATES, TrajectoryLibrary
from sofa_softctl.library.ocp.problem import Motion, OptimalControlProblem
from sofa_softctl.library.ocp.sensitivity import directions, free_directions, response
from sofa_softctl.library.ocp.shooting import Optimum, Program
from sofa_softctl.status import Status


class _QueryMeasures(NamedTuple):
    """Measures of one task, named as the columns of `Verification`."""

    executed: bool
    errors: float
    unrefined: float
    costs: float
    optimal: float
    defects: float
    stationarity: float
    seconds: float
    seconds_optimal: float
    seconds_warm: float


def verify(
    library: TrajectoryLibrary,
    program: Program,
    tasks: int = 1000,
    *,
    seed: int = 1,
    solve: bool = True,
    candidates: int = CANDIDATES,
    accuracy: float = 1.0,
    simulated: bool = True,
    progress: Callable[[int], None] | None = None,
) -> Verification:
    """Verify answers to a chain of random tasks, as in building but with another seed.

    Tasks that neither the library nor the solver solves are counted separately; after several of
    them in a row the chain restarts, see `FreshTasks`. Ctrl-C ends the verification after the
    present task.

    Args:
        library: The library.
        program: Program of the library's problem.
        tasks: Number of tasks.
        seed: Seed of the random numbers; it is independent of the building's.
        solve: Solve each task, for costs and times.
        candidates: Number of entries adapted for an answer; 1 is the paper's method.
        accuracy: Allowed error over the problem's tolerance, before the next entry is adapted [-].
        simulated: Simulate answers, and adapt the next entry if they fail.
        progress: Called after each task with the number of tasks so far.

    Raises:
        KeyboardInterrupt: Ctrl-C came before the end of the first task.
    """
    library.prepare()
    options = {"check": simulated, "accuracy": accuracy, "candidates": candidates}
    run = _Run(library, program, FreshTasks(program.problem, seed), options, solve)
    try:
        while len(run.tasks) < tasks:
            with interrupted_after():
                counted = run.verify_next()
                if counted and progress is not None:
                    progress(len(run.tasks))
    except KeyboardInterrupt:
        if not run.tasks or len(run.tasks) < len(run.task_parameters):  # pressed twice
            raise
    problem = program.problem
    plain_seconds = [library.query(p, check=False).seconds for p in run.task_parameters]
    columns = {
        name: np.array([getattr(task, name) for task in run.tasks])
        for name in _QueryMeasures._fields
    }
    return Verification(
        seconds_plain=np.array(plain_seconds),
        statuses=dict(run.statuses),
        corrections=dict(+run.corrections),
        tolerance=problem.tolerance,
        infeasible=run.fresh.without_motion,
        restarts=run.fresh.restarts,
        error_unit=problem.error_unit,
        cost_unit=problem.cost_unit,
        **columns,
    )


@dataclass
class _Run:
    """Running verification, with the measures so far."""

    library: TrajectoryLibrary
    program: Program
    fresh: FreshTasks
    options: dict[str, Any]
    """Options of queries."""
    solve: bool
    tasks: list[_QueryMeasures] = field(default_factory=list)
    task_parameters: list[np.ndarray] = field(default_factory=list)
    """Parameters of the tasks."""
    statuses: Counter[str] = field(default_factory=Counter)
    corrections: Counter[str] = field(default_factory=Counter)

    def verify_next(self) -> bool:
        """Verify one task; return True if it counts, which infeasible tasks do not."""
        library, program = self.library, self.program
        p = self.fresh.draw()
        answer = library.query(p, **self.options)
        executed = answer.status.ok or not self.options["check"]
        cold = program.solve(p) if self.solve or not executed else None
        if cold is not None and not cold.status.ok and not answer.status.ok:
            self.fresh.skip()
            return False
        self.task_parameters.append(p)
        self.statuses[answer.status.name] += 1
        self.corrections[answer.correction.name] += executed
        simulation = library.model.simulate(answer.motion, p)
        optimum = cold if cold is not None and cold.status.ok else None
        end = None if executed or optimum is None else optimum.v[program.x_at[-1]]
        self.fresh.finish(simulation.motion.x[-1] if end is None else end)
        defect, stationarity = _optimality(program, answer.motion, p)
        nearest = library.entries[answer.nearest]
        warm = _warm(program, p, nearest) if self.solve and not answer.mirrored else None
        self.tasks.append(
            _QueryMeasures(
                executed=executed,
                errors=simulation.error,
                unrefined=library.query(p, refine=False).error,
                costs=simulation.cost,
                optimal=np.nan if optimum is None else optimum.cost,
                defects=defect,
                stationarity=stationarity,
                seconds=answer.seconds,
                seconds_optimal=_seconds(cold),
                seconds_warm=_seconds(warm),
            )
        )
        return True


def _seconds(optimum: Optimum | None) -> float:
    return optimum.seconds if optimum is not None and optimum.status.ok else np.nan


def _warm(program: Program, p: np.ndarray, entry: Entry) -> Optimum:
    """Solve at p from the nearest entry and its multipliers."""
    nearest_optimum = program.solve(entry.p, entry.v)
    return program.solve(
        p, nearest_optimum.v, multipliers=(nearest_optimum.lam, nearest_optimum.mu)
    )


def _optimality(program: Program, motion: Motion, p: np.ndarray) -> tuple[float, float]:
    """Return the violation of the equations, and of stationarity with the best multipliers.

    Least-squares multipliers leave the gradient of the cost projected on the directions that keep
    equations and active inequalities.
    """
    v = program.model.unknowns(motion)
    multipliers = np.zeros(program.equations), np.zeros(program.inequalities)
    derivatives = program.derivatives(
        Optimum(p, v, *multipliers, cost=0.0, status=Status.NOT_CONVERGED, seconds=0.0)
    )
    with one_blas_thread():
        active_rows = np.flatnonzero(derivatives.h < 1e-6)  # those that count as active
        free, _ = free_directions(
            derivatives, active_rows, directions(response(program.model, derivatives))
        )
        projected_gradient = free @ (free.T @ derivatives.f_v)
    return program.defect(v, p), float(
        np.abs(projected_gradient).max() / np.abs(derivatives.f_v).max()
    )


@dataclass(frozen=True, eq=False)
class Verification:
    """Answers to random tasks, compared with the optima."""

    statuses: dict[str, int]
    """Number of answers of each status."""
    corrections: dict[str, int]
    """Number of executed answers by their `Correction`."""
    executed: np.ndarray
    """Mask of the answers that may be executed; all of them without simulation."""
    errors: np.ndarray
    """Simulated error of each answer [unit of the problem's error]."""
    unrefined: np.ndarray
    """Error of the nearest trajectory without adaptation."""
    costs: np.ndarray
    """Cost of each answer."""
    optimal: np.ndarray
    """Cost of each optimum, NaN if there is none."""
    defects: np.ndarray
    """Largest violation of an equation of the program by each answer."""
    stationarity: np.ndarray
    """Violation of (3a) by each answer with the best multipliers, over the largest slope of the
    cost [-]."""
    seconds: np.ndarray
    """Computing time of each answer, search included [s]."""
    seconds_plain: np.ndarray
    """Time of the paper's answers to the same tasks, without simulation [s]."""
    seconds_optimal: np.ndarray
    """Time of the solver from the problem's guess [s]."""
    seconds_warm: np.ndarray
    """Time of the solver from the nearest entry and its multipliers [s]."""
    tolerance: float
    """Tolerance of the error."""
    infeasible: int
    """Number of infeasible tasks, which do not count above."""
    restarts: int
    """Number of restarts of the chain of tasks, see `verify`."""
    error_unit: str = ""
    """Unit of errors and tolerance."""
    cost_unit: str = ""
    """Unit of costs."""

    @property
    def loss(self) -> float:
        """Mean cost of executed answers over the mean optimal cost, minus 1 [-]; may be NaN."""
        is_comparable = np.isfinite(self.optimal) & self.executed
        if not is_comparable.any():
            return float("nan")
        return float(self.costs[is_comparable].mean() / self.optimal[is_comparable].mean() - 1.0)

    @property
    def excess(self) -> np.ndarray:
        """Cost of each executed answer over that of the optimum, minus 1 [-]; NaN without one.

        Optima below a hundredth of their median count as that: near a cost of 0, ratios mean
        nothing.
        """
        size = np.abs(self.optimal)
        is_known = np.isfinite(size)
        floor = 0.01 * float(np.median(size[is_known])) if is_known.any() else np.nan
        ratio = (self.costs - self.optimal) / np.maximum(size, max(floor, 1e-300))
        return np.where(self.executed, ratio, np.nan)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict, with statistics in place of columns."""
        values: dict[str, Any] = {
            "statuses": self.statuses,
            "corrections": self.corrections,
            "loss": self.loss,
            "excess": _distribution(self.excess),
        }
        for name, value in asdict(self).items():
            if isinstance(value, np.ndarray) and value.dtype == float:
                values[name] = _distribution(value)
        values["good"] = float((self.errors <= self.tolerance).mean())
        for name in ("tolerance", "infeasible", "restarts"):
            values[name] = getattr(self, name)
        return values


def _distribution(values: np.ndarray) -> dict[str, float] | None:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return None
    median, percentile_99 = np.percentile(finite, [50, 99])
    return {
        "mean": float(finite.mean()),
        "median": float(median),
        "p99": float(percentile_99),
        "largest": float(finite.max()),
    }


@dataclass
class FreshTasks:
    """Chain of tasks with random numbers that no building uses."""

    problem: OptimalControlProblem
    """Problem of the tasks."""
    seed: int
    """Seed of the random numbers."""
    without_motion: int = 0
    """Number of infeasible tasks."""
    _chain: TaskChain = field(init=False)

    def __post_init__(self) -> None:
        self._chain = TaskChain(np.random.default_rng([7, self.seed]))

    def draw(self) -> np.ndarray:
        """Draw the parameters of the next task, shape (n_p,)."""
        return self._chain.draw(self.problem)

    def finish(self, end: np.ndarray) -> None:
        """Finish the last task with its final state."""
        self._chain.finish(end)

    def skip(self) -> None:
        """Skip the last task as infeasible."""
        self.without_motion += 1
        self._chain.skip()

    @property
    def restarts(self) -> int:
        """Number of restarts of the chain."""
        return self._chain.restarts
