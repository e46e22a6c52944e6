"""Study of causes: are the true ones named, and are models that are right left alone?

Each run is an estimate from new noise and a new start, up to a factor of two off, and its report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.causes.cases import MULTIPLES, PLANTS, recording, wrong
from benchmarks.table import completed_rows
from sofa_softctl.base.executors.retry import as_done
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.fitting.estimate import estimate, start_at
from sofa_softctl.identification.report.make import make_report
from sofa_softctl.identification.report.report import Report

RIGHT = 30
"""Runs of each plant whose model is right, for each seed."""
AWAY = 0.3
"""Starts are off by up to this, in decades."""
SHOWN = 4.0
"""Effects whose score is expected to change by so many deviations can be detected: at least three
times in four, at the level of significance of 20 tests."""
HEADER = [
    *("plant", "cause", "multiple", "seed", "size", "distance", "status", "verdict", "first"),
    *("alike", "rank", "could_not_show", "seconds", "report_seconds", "text"),
]


class Run(NamedTuple):
    """What is run."""

    plant: str
    """Key of `PLANTS`."""
    cause: str
    """What the model leaves out; empty: it is right."""
    multiple: float
    """Its size, see `cause_cases`; of a right model the number of the run."""
    seed: int
    """Seed of the study."""


@dataclass(frozen=True, eq=False)
class Study:
    """Runs, counted."""

    rows: tuple[dict[str, str], ...]
    """Rows of the file."""

    def counted(self, wanted: Callable[[dict[str, str]], bool]) -> int:
        """Number of rows."""
        return sum(map(wanted, self.rows))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        wrong_ones = [row for row in self.rows if row["cause"]]
        right = [row for row in self.rows if not row["cause"]]
        shown = [row for row in wrong_ones if float(row["distance"]) >= SHOWN]
        hidden = [row for row in wrong_ones if float(row["distance"]) < SHOWN]
        return {
            "wrong": _of_wrong(wrong_ones),
            "wrong, detectable": _of_wrong(shown),
            "wrong, not detectable": _of_wrong(hidden),
            "right": {
                "runs": len(right),
                "not to be trusted": sum(row["verdict"] == "bad" for row in right),
                "with a cause": sum(row["first"] != "" for row in right),
            },
            "seconds": float(np.mean([float(row["seconds"]) for row in self.rows])),
            "report_seconds": float(np.mean([float(row["report_seconds"]) for row in self.rows])),
            "causes": {cause: _of_wrong(rows) for cause, rows in _by_cause(wrong_ones).items()},
        }


def _of_wrong(rows: Sequence[dict[str, str]]) -> dict[str, int]:
    return {
        "runs": len(rows),
        "first": sum(row["first"] == row["cause"] for row in rows),
        "first or alike": sum(_alike(row) for row in rows),
        "trusted": sum(row["verdict"] != "bad" and not row["first"] for row in rows),
        "listed as what could not be shown": sum(row["could_not_show"] == "True" for row in rows),
    }


def _alike(row: dict[str, str]) -> bool:
    return row["cause"] in (row["first"], *row["alike"].split())


def _by_cause(rows: Sequence[dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        found.setdefault(f"{row['plant']}: {row['cause']}", []).append(row)
    return found


def measure_causes(
    path: Path,
    progress: Callable[[int], None] | None = None,
    *,
    plants: Sequence[str] = tuple(PLANTS),
    seeds: Sequence[int] = (0,),
    executor: Executor | None = None,
) -> Study:
    """Do the runs that the file lacks, and read them all.

    Each run is one line, with its own noise: after a kill, the same call continues.

    Args:
        path: CSV file; continued if it exists.
        progress: Called after each run with the number of runs.
        plants: Keys of `PLANTS`.
        seeds: Seeds of noise and starts.
        executor: Does several runs at a time; None: one by one.

    Raises:
        IdentificationError: The file is not one of this study; there is no such plant.
        WorkerError: Two worker processes died with the same run.
    """
    for name in plants:
        if name not in PLANTS:
            raise IdentificationError(
                f"There is no plant '{name}'. There are: {', '.join(PLANTS)}."
            )
    wanted = [run for seed in seeds for plant in plants for run in runs(plant, seed)]
    rows = completed_rows(
        path, HEADER, wanted, _key, lambda left: as_done(executor, _done, left), progress
    )
    return Study(tuple(rows))


def runs(plant: str, seed: int) -> list[Run]:
    """Runs of one plant: each effect in three sizes, wrong columns, and models that are right."""
    robot = PLANTS[plant]
    found = [Run(plant, cause, size, seed) for cause in robot.effects for size in MULTIPLES]
    found += [Run(plant, cause, 0.0, seed) for cause in robot.columns]
    return found + [Run(plant, "", float(k), seed) for k in range(RIGHT)]


def _key(row: dict[str, str]) -> Run:
    return Run(row["plant"], row["cause"], float(row["multiple"]), int(row["seed"]))


def _done(run: Run) -> dict[str, str]:
    """One run, as a line of the file."""
    robot, random = PLANTS[run.plant], np.random.default_rng(_entropy(run))
    problem = robot.problem()
    experiment = problem.experiment(recording(run.plant, run.cause, run.multiple, random))
    begin = {name: x * 10.0 ** random.uniform(-AWAY, AWAY) for name, x in robot.truth.items()}
    found = estimate([experiment], start_at(problem.parameters, begin))
    began = perf_counter()
    report = make_report(run.plant, found, [experiment])
    seconds = perf_counter() - began
    size = wrong(run.plant, run.cause, run.multiple) if run.cause else None
    return {
        "plant": run.plant,
        "cause": run.cause,
        "multiple": repr(run.multiple),
        "seed": str(run.seed),
        "size": repr(size.size) if size else "",
        "distance": repr(size.distance) if size else "",
        "status": found.termination.name,
        **_named(report, run.cause),
        "seconds": f"{found.seconds:.3f}",
        "report_seconds": f"{seconds:.3f}",
    }


def _named(report: Report, cause: str) -> dict[str, str]:
    """What a report says, and where it ranks the true cause."""
    names = [one.name for one in report.causes.found]
    first = report.causes.first
    return {
        "verdict": report.verdict.level,
        "first": names[0] if names else "",
        "alike": " ".join(first.alike) if first else "",
        "rank": str(names.index(cause) + 1) if cause in names else "",
        "could_not_show": str(cause in [one.name for one in report.causes.hidden]),
        "text": report.verdict.text,
    }


def _entropy(run: Run) -> list[int]:
    text = f"{run.plant} {run.cause} {run.multiple:g}"
    return [run.seed, *text.encode()]
