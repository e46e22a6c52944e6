"""Success rates of the robots over fixed lists of runs: `python -m benchmarks.success_rates`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.success_rates.cases import ROBOTS, Case
from benchmarks.success_rates.run import COLUMNS, run_case
from benchmarks.table import Row, completed_rows
from sofa_softctl.base.executors.retry import as_done
from sofa_softctl.status import Status

MEDIANS = ("position mean", "position end", "angle mean", "angle end", "plane mean", "point end")
"""Columns whose median over a robot's runs is shown."""


@dataclass(frozen=True)
class Robustness:
    """All runs of one robot."""

    robot: str
    """A key of `ROBOTS`."""
    claim: str
    """What counts as success, and where that is from."""
    runs: int
    """Runs made."""
    reached: int
    """Runs that succeeded."""
    median: dict[str, float]
    """Median of an error over the runs [length, degree]; NaN where no run has it."""
    worst: dict[str, float]
    """Largest of it."""
    steps: dict[str, int]
    """Steps of all runs, by how they were solved, and those 'not converged'."""
    gap_median: float
    """Median of the runs' median gap [-]; inf: most steps have no bound."""
    gap_worst: float
    """Largest gap of all steps [-]."""
    lost: int
    """Runs at whose end the body that is controlled has left all contacts."""
    qp_median: float
    """Median of the runs' median CPU time of a step's QPs [ms]."""
    qp_p999: float
    """99.9 % of the QPs of all runs together are faster, CPU time [ms]."""
    qp_worst: float
    """The slowest of all [ms]."""
    step_median: float
    """Median of the runs' median CPU time of a whole step [ms]."""
    lookahead: float
    """CPU time of looking ahead, mean over all steps [ms]."""
    contacts: float
    """Mean number of contacts over all runs."""
    failures: list[tuple[str, str, str]] = field(default_factory=list)
    """Parameters, seed and reason of every run that did not succeed."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON, which has neither NaN nor infinity: null."""
        found: dict[str, Any] = _finite(asdict(self))
        return found


def measure_robust(
    path: Path,
    scenes: Path,
    cases: Sequence[Case],
    progress: Callable[[int], None] | None = None,
    *,
    executor: Executor | None = None,
) -> list[Robustness]:
    """Run the cases that the file does not have, append a row for each, and read them all.

    Rows are written as soon as their run ends: after a kill, the same call goes on. Rows are never
    run again: after a change of the code or of a scene, give another file.

    Args:
        path: CSV file; continued if it exists.
        scenes: Folder of the scenes.
        cases: What to run.
        progress: Called with the number of cases done, those of the file included.
        executor: Runs several cases at a time; None: one by one, here.

    Raises:
        SoftctlError: The file is not one of this benchmark.
        WorkerError: Two worker processes died with the same case.
    """
    by_key = {case.key: case for case in cases}
    rows = completed_rows(
        path,
        COLUMNS,
        list(by_key),
        _key,
        lambda missing: _run(scenes, [by_key[key] for key in missing], executor),
        progress,
    )
    names = dict.fromkeys(case.robot for case in cases)
    return [_summary(name, [row for row in rows if row["robot"] == name]) for name in names]


def _run(scenes: Path, cases: Sequence[Case], executor: Executor | None) -> Iterator[Row]:
    """Rows in the order in which the runs end."""
    files = [scenes / ROBOTS[case.robot].scene for case in cases]
    for row in as_done(executor, run_case, files, cases):
        yield {name: _text(value) for name, value in row.items()}


def _summary(name: str, rows: Sequence[dict[str, str]]) -> Robustness:
    robot = ROBOTS[name]
    whole = [row for row in rows if not row["error"]]
    limits = ", ".join(f"{column} up to {limit:g}" for column, limit in robot.limits.items())
    counted = [*(status.name for status in Status), "not converged"]
    steps = sum(_numbers(whole, "steps"))
    return Robustness(
        robot=name,
        claim=f"{limits} ({robot.note})",
        runs=len(rows),
        reached=sum(row["reached"] == "yes" for row in rows),
        median={column: _over(np.median, _numbers(whole, column)) for column in MEDIANS},
        worst={column: _over(np.max, _numbers(whole, column)) for column in MEDIANS},
        steps={column: int(sum(_numbers(whole, column))) for column in counted},
        gap_median=_over(np.median, _numbers(whole, "gap median")),
        gap_worst=_over(np.max, _numbers(whole, "gap worst")),
        lost=int(sum(_numbers(whole, "lost"))),
        qp_median=_over(np.median, _numbers(whole, "qp median")),
        qp_p999=_slowest_thousandth(whole),
        qp_worst=_over(np.max, _numbers(whole, "qp worst")),
        step_median=_over(np.median, _numbers(whole, "step median")),
        lookahead=sum(_numbers(whole, "lookahead")) / max(steps, 1.0),
        contacts=_over(np.mean, _numbers(whole, "contacts")),
        failures=[
            (row["parameters"], row["seed"], row["error"] or row["why"])
            for row in rows
            if row["reached"] != "yes"
        ],
    )


def _slowest_thousandth(rows: Sequence[dict[str, str]]) -> float:
    """Time that 0.1 % of the steps of all rows exceed [ms].

    Exact while no row has more than `run.SLOWEST` of them, as with up to 40,000 steps.
    """
    times = sorted(
        (float(text) for row in rows for text in row["qp slowest"].split()), reverse=True
    )
    rank = int(sum(_numbers(rows, "steps")) * 1e-3)
    return times[min(rank, len(times) - 1)] if times else np.nan


def _numbers(rows: Iterable[dict[str, str]], column: str) -> list[float]:
    """Of a column, without those that a row does not have."""
    found = [float(row[column]) for row in rows if row[column]]
    return [value for value in found if not np.isnan(value)]


def _over(reduce: Callable[..., Any], values: list[float]) -> float:
    return float(reduce(values)) if values else np.nan


def _key(row: dict[str, str]) -> tuple[str, str, str]:
    return row["robot"], row["parameters"], row["seed"]


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.6g}"
    return str(value)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    return None if isinstance(value, float) and not np.isfinite(value) else value
