"""Verify a library on new random tasks, against their optima."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np

from sofa_softctl._internal.interrupt import interrupted_after
from sofa_softctl.library.build import TaskChain
from sofa_softctl.library.entry import Entry
from sofa_softctl.library.library import CANDIDATES, Answer, TrajectoryLibrary
from sofa_softctl.library.model import Simulation
from sofa_softctl.library.ocp.shooting import Optimum, Program
from sofa_softctl.status import Status


@dataclass(frozen=True, eq=False)
class Verification:
    """Answers to tasks, compared with the optima."""

    statuses: dict[str, int]
    """Number of answers of each status."""
    corrections: dict[str, int]
    """Number of solved answers by how the nearest motion was adapted."""
    errors: np.ndarray
    """Simulated error of each answer that may be executed [of the problem]."""
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
    error_unit: str = ""
    """Unit of errors and tolerance."""
    cost_unit: str = ""
    """Unit of costs."""

    @property
    def loss(self) -> float:
        """Mean cost of the answers over that of the optima, less one [-]."""
        known = np.isfinite(self.optimal)
        return float(self.costs[known].mean() / self.optimal[known].mean() - 1.0)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: distributions by mean, median, 99th percentile and largest."""
        values: dict[str, Any] = {
            "statuses": self.statuses,
            "corrections": self.corrections,
            "loss": self.loss,
        }
        for name, value in asdict(self).items():
            if isinstance(value, np.ndarray):
                values[name] = _distribution(value)
        values["good"] = float((self.errors <= self.tolerance).mean())
        return values | {"tolerance": self.tolerance, "infeasible": self.infeasible}


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

    Ctrl-C ends it after the present task: the result is that of the tasks done.

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
    chain = TaskChain(np.random.default_rng([7, seed]))
    rows: list[tuple[float, ...]] = []
    asked: list[np.ndarray] = []
    statuses: Counter[str] = Counter()
    corrections: Counter[str] = Counter()
    infeasible = 0

    def one() -> None:
        nonlocal infeasible
        p = chain.draw(program.problem)
        answer = library.query(
            p,
            check=simulated,
            accuracy=accuracy,
            candidates=candidates,
        )
        given = answer.status.ok or not simulated  # without a simulation none is SOLVED
        cold = program.solve(p) if solve or not given else None
        if cold is not None and not cold.status.ok and not answer.status.ok:
            infeasible += 1
            return
        asked.append(p)
        statuses[answer.status.name] += 1
        corrections[answer.correction.name] += given
        entry = library.entries[answer.nearest]
        warm = _warm(program, p, entry) if solve and not answer.mirrored else None
        moved = library.model.simulate(answer.motion, p)
        x = moved.motion.x
        chain.finish(x[-1] if given or cold is None else cold.v[program.x_at[-1]])
        rows.append(_row(library, program, answer, moved, cold, warm))
        if progress is not None:
            progress(len(rows))

    try:
        while len(rows) < tasks:
            with interrupted_after():
                one()
    except KeyboardInterrupt:
        if not rows or len(rows) < len(asked):  # pressed twice
            raise
    columns = dict(zip(_MEASURED, np.array(rows).T, strict=True))
    plain = [library.query(p, check=False).seconds for p in asked]
    return Verification(
        seconds_plain=np.array(plain),
        statuses=dict(statuses),
        corrections=dict(+corrections),
        tolerance=program.problem.tolerance,
        infeasible=infeasible,
        error_unit=program.problem.error_unit,
        cost_unit=program.problem.cost_unit,
        **columns,
    )


def _warm(program: Program, p: np.ndarray, entry: Entry) -> Optimum:
    """The optimum at p, from the nearest motion and its multipliers."""
    known = program.solve(entry.p, entry.v)
    return program.solve(p, known.v, multipliers=(known.lam, known.mu))


_MEASURED = (
    "errors",
    "unrefined",
    "costs",
    "optimal",
    "defects",
    "stationarity",
    "seconds",
    "seconds_optimal",
    "seconds_warm",
)
"""Fields of `Verification` in the order of `_row`."""


def _row(
    library: TrajectoryLibrary,
    program: Program,
    answer: Answer,
    moved: Simulation,
    cold: Optimum | None,
    warm: Optimum | None,
) -> tuple[float, ...]:
    p = answer.p
    plain = library.query(p, refine=False)
    found = cold if cold is not None and cold.status.ok else None
    return (
        moved.error,
        plain.error,
        moved.cost,
        np.nan if found is None else found.cost,
        *_optimality(program, answer),
        answer.seconds,
        np.nan if found is None else found.seconds,
        np.nan if warm is None or not warm.status.ok else warm.seconds,
    )


def _optimality(program: Program, answer: Answer) -> tuple[float, float]:
    """Violation of the equations, and of stationarity with the best multipliers."""
    none = np.zeros(program.equations), np.zeros(program.inequalities)
    v = program.model.unknowns(answer.motion)
    at = program.derivatives(
        Optimum(answer.p, v, *none, cost=0.0, status=Status.NOT_CONVERGED, seconds=0.0)
    )
    rows = np.concatenate((at.g_v.toarray(), at.h_v.tocsr()[at.h < 1e-6].toarray()))
    multipliers = np.linalg.lstsq(rows.T, at.f_v, rcond=None)[0]
    left = np.abs(at.f_v - rows.T @ multipliers).max()
    return program.defect(v, answer.p), float(left / np.abs(at.f_v).max())


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


def estimate(program: Program, tasks: int = 5) -> tuple[float, int]:
    """Time to solve a task and make its motion [s], and its size in the file [bytes]."""
    from sofa_softctl.library.build import solve

    chain, seconds, sizes = TaskChain(np.random.default_rng(0)), [], []
    for _ in range(tasks):
        start = perf_counter()
        found = solve(program, chain.draw(program.problem))
        seconds.append(perf_counter() - start)
        if found.end is not None:
            chain.finish(found.end)
        if found.entry is not None:
            sizes.append(len(found.entry.to_bytes()))
    return float(np.median(seconds)), int(np.median(sizes)) if sizes else 0
