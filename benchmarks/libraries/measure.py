"""The library paper's table like for like: its figures, its method here, ours, and IPOPT."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, replace
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.compiled import CompiledProgram
from benchmarks.libraries.paper_method import answer_blind, build_as_paper
from scenes.elastic_arm.tasks import pick_and_place
from sofa_softctl.base.executors.retry import in_order, raise_worker_error
from sofa_softctl.library.building.build import Builder
from sofa_softctl.library.building.verify import verify
from sofa_softctl.library.motions.storage import LibraryFile
from sofa_softctl.library.ocp.problem import OptimalControlProblem
from sofa_softctl.library.ocp.shooting import Program

COMPARED = 60
"""Fresh tasks, the first, that IPOPT solves too."""
NONE = float("nan")


@dataclass(frozen=True)
class LibraryRow:
    """What a way of planning did; NaN: it does not apply, or is not known."""

    motions: float = NONE
    """Motions in the library."""
    plannings: float = NONE
    """Random tasks until as many in a row as asked for needed no new motion."""
    executed: float = NONE
    """Share of fresh tasks whose answer may be executed [-]; for IPOPT, those solved."""
    above: float = NONE
    """Share of executed answers whose simulated error is above the tolerance [-]."""
    mean: float = NONE
    """Their mean error [of the problem]."""
    largest: float = NONE
    """Their largest error [of the problem]."""
    nearest_mean: float = NONE
    """Mean error of the nearest motion as it is [of the problem]."""
    nearest_largest: float = NONE
    """Its largest error [of the problem]."""
    linear: float = NONE
    """Share of answers for which the linear correction sufficed [-]."""
    loss: float = NONE
    """Mean cost over that of the optima, less one; of answers within the tolerance [-]."""
    median: float = NONE
    """Time of an answer, median [s]."""
    p90: float = NONE
    """90 % of answers take at most this [s]."""
    p99: float = NONE
    """99 % of answers [s]."""


PAPER = LibraryRow(
    motions=578,
    plannings=47315,
    executed=1.0,
    mean=1.92e-3,
    largest=10.78e-3,
    nearest_mean=32.2e-3,
    nearest_largest=88.7e-3,
    linear=0.225,
    loss=0.0,
)
"""The paper's figures: errors of 200 tasks in a row that are executed without a test. Its tangent
QP takes 46.0 ms in the mean, at most 79.1 ms, IPOPT 0.853 s. Source: Marcucci et al., sections 2
and 5.1."""
WAYS = {
    "method": "the paper's method",
    "ours": "ours, tested",
    "cold": "IPOPT, cold",
    "warm": "IPOPT, warm",
}
"""Ways of planning that are measured."""


@dataclass(frozen=True, eq=False)
class SeedRows:
    """All ways of planning with one seed of building and of fresh tasks."""

    seed: int
    """The seed."""
    rows: Mapping[str, LibraryRow]
    """By the names of WAYS."""
    errors: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Simulated errors, for plots: "nearest", "method" and "ours"."""
    seconds: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Times, for plots, by the names of WAYS."""


@dataclass(frozen=True, eq=False)
class LibraryTable:
    """The table."""

    tasks: int
    """Fresh tasks of each seed."""
    compared: int
    """Of these, those that IPOPT solved too."""
    tolerance: float
    """Tolerance of the error."""
    error_unit: str
    """Its unit."""
    measured: list[SeedRows]
    """Of each seed."""
    seconds: float
    """Time that all took [s]."""

    def range(self, way: str, name: str) -> tuple[float, float]:
        """Least and largest of a field of `LibraryRow` over the seeds."""
        values = [getattr(each.rows[way], name) for each in self.measured]
        return min(values), max(values)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "tasks": self.tasks,
            "compared": self.compared,
            "tolerance": self.tolerance,
            "error_unit": self.error_unit,
            "paper": asdict(PAPER),
            "seeds": [
                {"seed": each.seed} | {way: asdict(each.rows[way]) for way in WAYS}
                for each in self.measured
            ],
            "seconds": self.seconds,
        }


def measure_library(
    progress: Callable[[str], None] | None = None,
    *,
    seeds: int = 5,
    tasks: int = 1000,
    make: Callable[[], OptimalControlProblem] = pick_and_place,
    compiled: bool = True,
    successes: int = 1000,
    building: Mapping[str, Any] | None = None,
    executor: Executor | None = None,
) -> LibraryTable:
    """Build a library by the paper's method and one by ours for each seed, and ask both.

    Args:
        progress: Called with a line of text when a seed is done.
        seeds: Number of seeds, from 0.
        tasks: Fresh tasks of each.
        make: Creates the problem; picklable.
        compiled: Whether IPOPT's programs are compiled.
        successes: Tasks in a row that need no new motion, for the paper's method.
        building: Options of `Builder` other than its defaults.
        executor: Measures several seeds at a time; None: one after the other, here.

    Raises:
        SoftctlError: CasADi is not installed, or with `compiled` there is no C compiler.
        WorkerError: Two worker processes died with the same seed.
    """
    begin, problem, found = perf_counter(), make(), []
    options = (make, tasks, compiled, successes, dict(building or {}))
    with raise_worker_error("Start again, perhaps with fewer workers."):
        for rows in in_order(
            executor, measure_seed, range(seeds), *(repeat(each, seeds) for each in options)
        ):
            found.append(rows)
            if progress is not None:
                counts = ", ".join(f"{rows.rows[way].motions:.0f}" for way in ("method", "ours"))
                progress(f"seed {rows.seed}: {counts} motions")
    return LibraryTable(
        tasks=tasks,
        compared=min(COMPARED, tasks),
        tolerance=problem.tolerance,
        error_unit=problem.error_unit,
        measured=found,
        seconds=perf_counter() - begin,
    )


def measure_seed(
    seed: int,
    make: Callable[[], OptimalControlProblem],
    tasks: int,
    compiled: bool,
    successes: int,
    building: Mapping[str, Any],
) -> SeedRows:
    """All ways of planning with one seed; see `measure_library`."""
    problem, compared = make(), min(COMPARED, tasks)
    kind = CompiledProgram if compiled else Program
    program = kind(replace(problem, margin=0.0))
    built = build_as_paper(program, successes=successes, seed=seed)
    blind = answer_blind(built.library, program, tasks, seed=1 + seed, compared=compared)
    good = blind.errors <= problem.tolerance
    method = _row(
        motions=len(built.library),
        plannings=built.plannings,
        executed=1.0,
        errors=blind.errors,
        tolerance=problem.tolerance,
        nearest=blind.unrefined,
        linear=float(blind.linear.mean()),
        loss=_loss(blind.costs, blind.optimal, good),
        seconds=blind.seconds,
    )
    program = kind(problem)
    with TemporaryDirectory(prefix="softctl-") as folder:
        path = Path(folder) / "table.library"
        with LibraryFile.create(path, program.model) as file:
            builder = Builder(program, file, seed=seed, **building)
            library = builder.build()
    tested = verify(library, program, tasks, seed=1 + seed, solve=False)
    solved = verify(library, program, compared, seed=1 + seed)
    corrections = tested.corrections
    ours = _row(
        motions=len(library),
        plannings=builder.counts.plannings,
        executed=float(tested.executed.mean()),
        errors=tested.errors[tested.executed],
        tolerance=problem.tolerance,
        nearest=tested.unrefined,
        linear=corrections.get("LINEAR", 0) / max(sum(corrections.values()), 1),
        loss=solved.loss,
        seconds=tested.seconds,
    )
    found = float(np.isfinite(solved.optimal).mean())
    seconds = {
        "method": blind.seconds,
        "ours": tested.seconds,
        "cold": solved.seconds_optimal,
        "warm": solved.seconds_warm,
    }
    rows = {
        "method": method,
        "ours": ours,
        "cold": LibraryRow(executed=found, loss=0.0, **_times(seconds["cold"])),
        "warm": LibraryRow(**_times(seconds["warm"])),
    }
    errors = {
        "nearest": blind.unrefined,
        "method": blind.errors,
        "ours": tested.errors[tested.executed],
    }
    return SeedRows(seed, rows, errors, seconds)


def _row(
    *,
    errors: np.ndarray,
    tolerance: float,
    nearest: np.ndarray,
    seconds: np.ndarray,
    **given: float,
) -> LibraryRow:
    executed = {} if not len(errors) else {"mean": errors.mean(), "largest": errors.max()}
    shares = {} if not len(errors) else {"above": (errors > tolerance).mean()}
    near = {"nearest_mean": nearest.mean(), "nearest_largest": nearest.max()}
    numbers = given | {k: float(v) for k, v in (executed | shares | near).items()}
    return LibraryRow(**numbers, **_times(seconds))


def _times(seconds: np.ndarray) -> dict[str, float]:
    known = seconds[np.isfinite(seconds)]
    if not len(known):
        return {}
    values = np.percentile(known, [50, 90, 99]).tolist()
    return dict(zip(("median", "p90", "p99"), values, strict=True))


def _loss(costs: np.ndarray, optimal: np.ndarray, good: np.ndarray) -> float:
    """Mean cost of good answers over that of the optima, less one, where these are known."""
    known = good & np.isfinite(optimal)
    return float(costs[known].mean() / optimal[known].mean() - 1.0) if known.any() else NONE
