"""Verify a library on new random tasks, against their optima.

Result of verifying a library.

Random tasks that a library is verified with.
"""

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

ACTIVE = 1e-6
"""Largest value of an inequality that counts as active for stationarity."""


class _Task(NamedTuple):
    """What was measured at a task: a value of each column of `Verification` of that name."""

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
    """Verify answers to a chain of random tasks, as in building but of another seed.

    Tasks that neither the library nor the solver has a motion for are counted apart; after several
    of them in a row the chain begins anew, see `FreshTasks`. Ctrl-C ends it after the present task:
    the result is that of the tasks done.

    Args:
        library: The library.
        program: Program of its problem.
        tasks: Number of tasks.
        seed: Seed of the random numbers, other than that of building.
        solve: Whether to solve each task, for costs and times.
        candidates: Number of entries tried for an answer; 1 is the paper's method.
        accuracy: Allowed error, relative to the problem's tolerance, before the next entry is
            tried.
        simulated: Whether to simulate answers, and to try the next entry where they miss.
        progress: Called after each task with their number.

    Raises:
        KeyboardInterrupt: Ctrl-C came before the first task was done.
    """
    library.prepare()
    options = {"check": simulated, "accuracy": accuracy, "candidates": candidates}
    run = _Run(library, program, FreshTasks(program.problem, seed), options, solve)
    try:
        while len(run.tasks) < tasks:
            with interrupted_after():
                counted = run.one()
                if counted and progress is not None:
                    progress(len(run.tasks))
    except KeyboardInterrupt:
        if not run.tasks or len(run.tasks) < len(run.asked):  # pressed twice
            raise
    problem = program.problem
    plain = [library.query(p, check=False).seconds for p in run.asked]
    columns = {
        name: np.array([getattr(each, name) for each in run.tasks]) for name in _Task._fields
    }
    return Verification(
        seconds_plain=np.array(plain),
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
    """Tasks of a verification."""

    library: TrajectoryLibrary
    program: Program
    fresh: FreshTasks
    options: dict[str, Any]
    """Of queries."""
    solve: bool
    tasks: list[_Task] = field(default_factory=list)
    asked: list[np.ndarray] = field(default_factory=list)
    """Parameters of the tasks."""
    statuses: Counter[str] = field(default_factory=Counter)
    corrections: Counter[str] = field(default_factory=Counter)

    def one(self) -> bool:
        """Do a task; returns whether it counts: it has a motion."""
        library, program = self.library, self.program
        p = self.fresh.draw()
        answer = library.query(p, **self.options)
        executed = answer.status.ok or not self.options["check"]
        cold = program.solve(p) if self.solve or not executed else None
        if cold is not None and not cold.status.ok and not answer.status.ok:
            self.fresh.skip()
            return False
        self.asked.append(p)
        self.statuses[answer.status.name] += 1
        self.corrections[answer.correction.name] += executed
        moved = library.model.simulate(answer.motion, p)
        found = cold if cold is not None and cold.status.ok else None
        optimal = None if executed or found is None else found.v[program.x_at[-1]]
        self.fresh.finish(moved.motion.x[-1] if optimal is None else optimal)
        defect, stationarity = _optimality(program, answer.motion, p)
        nearest = library.entries[answer.nearest]
        warm = _warm(program, p, nearest) if self.solve and not answer.mirrored else None
        self.tasks.append(
            _Task(
                executed=executed,
                errors=moved.error,
                unrefined=library.query(p, refine=False).error,
                costs=moved.cost,
                optimal=np.nan if found is None else found.cost,
                defects=defect,
                stationarity=stationarity,
                seconds=answer.seconds,
                seconds_optimal=_seconds(cold),
                seconds_warm=_seconds(warm),
            )
        )
        return True


def _seconds(found: Optimum | None) -> float:
    return found.seconds if found is not None and found.status.ok else np.nan


def _warm(program: Program, p: np.ndarray, entry: Entry) -> Optimum:
    """The optimum at p, from the nearest motion and its multipliers."""
    known = program.solve(entry.p, entry.v)
    return program.solve(p, known.v, multipliers=(known.lam, known.mu))


def _optimality(program: Program, motion: Motion, p: np.ndarray) -> tuple[float, float]:
    """Violation of the equations, and of stationarity with the best multipliers.

    The best multipliers, by least squares, leave the slope of the cost along directions that keep
    equations and active inequalities.
    """
    v = program.model.unknowns(motion)
    none = np.zeros(program.equations), np.zeros(program.inequalities)
    at = program.derivatives(
        Optimum(p, v, *none, cost=0.0, status=Status.NOT_CONVERGED, seconds=0.0)
    )
    with one_blas_thread():
        active = np.flatnonzero(at.h < ACTIVE)
        free, _ = free_directions(at, active, directions(response(program.model, at)))
        left = free @ (free.T @ at.f_v)
    return program.defect(v, p), float(np.abs(left).max() / np.abs(at.f_v).max())


@dataclass(frozen=True, eq=False)
class Verification:
    """Answers to tasks, compared with the optima."""

    statuses: dict[str, int]
    """Number of answers of each status."""
    corrections: dict[str, int]
    """Number of executed answers by how the nearest motion was adapted."""
    executed: np.ndarray
    """Whether each answer may be executed; all are where none is simulated."""
    errors: np.ndarray
    """Simulated error of each answer [of the problem]."""
    unrefined: np.ndarray
    """Error of the nearest motion as it is."""
    costs: np.ndarray
    """Cost of each answer."""
    optimal: np.ndarray
    """Cost of the optimum; NaN where none was found."""
    defects: np.ndarray
    """Largest violation of an equation of the program by the answer."""
    stationarity: np.ndarray
    """Largest violation of (3a) by the answer, with the best multipliers, over the largest slope of
    the cost [-]."""
    seconds: np.ndarray
    """Computing time of each answer, search included [s]."""
    seconds_plain: np.ndarray
    """Time of the paper's answers to the same tasks, without simulation [s]."""
    seconds_optimal: np.ndarray
    """Time of the solver from its own guess [s]."""
    seconds_warm: np.ndarray
    """Time of the solver from the nearest motion and its multipliers [s]."""
    tolerance: float
    """Tolerance of the error."""
    infeasible: int
    """Tasks without a solution, which do not count above."""
    restarts: int
    """Times that the chain of tasks began anew, see `verify`."""
    error_unit: str = ""
    """Unit of errors and tolerance."""
    cost_unit: str = ""
    """Unit of costs."""

    @property
    def loss(self) -> float:
        """Mean cost of executed answers over that of the optima, less one [-]; NaN without any."""
        known = np.isfinite(self.optimal) & self.executed
        if not known.any():
            return float("nan")
        return float(self.costs[known].mean() / self.optimal[known].mean() - 1.0)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: distributions by mean, median, 99th percentile and largest."""
        values: dict[str, Any] = {
            "statuses": self.statuses,
            "corrections": self.corrections,
            "loss": self.loss,
        }
        for name, value in asdict(self).items():
            if isinstance(value, np.ndarray) and value.dtype == float:
                values[name] = _distribution(value)
        values["good"] = float((self.errors <= self.tolerance).mean())
        for name in ("tolerance", "infeasible", "restarts"):
            values[name] = getattr(self, name)
        return values


def _distribution(values: np.ndarray) -> dict[str, float] | None:
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    low, high = np.percentile(known, [50, 99])
    return {
        "mean": float(known.mean()),
        "median": float(low),
        "p99": float(high),
        "largest": float(known.max()),
    }


@dataclass
class FreshTasks:
    """A chain of tasks of a seed that no building has."""

    problem: OptimalControlProblem
    """Problem of the tasks."""
    seed: int
    """Seed of the random numbers, never those of building."""
    without_motion: int = 0
    """Tasks without a motion."""
    _chain: TaskChain = field(init=False)

    def __post_init__(self) -> None:
        self._chain = TaskChain(np.random.default_rng([7, self.seed]))

    def draw(self) -> np.ndarray:
        """Parameters of a next task, shape (n_p,)."""
        return self._chain.draw(self.problem)

    def finish(self, end: np.ndarray) -> None:
        """Mark the last task as done, with its final state."""
        self._chain.finish(end)

    def skip(self) -> None:
        """Mark the last task as one without a motion."""
        self.without_motion += 1
        self._chain.skip()

    @property
    def restarts(self) -> int:
        """How often the chain began anew."""
        return self._chain.restarts
