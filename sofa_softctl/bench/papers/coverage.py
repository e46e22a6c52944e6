"""Monte-Carlo coverage of confidence intervals: data with new noise, fitted from new starts."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl._internal.executors.again import GOES_ON, in_order, lost_workers
from sofa_softctl.bench.papers.coverage_cases import CASES, Case
from sofa_softctl.bench.papers.rows import whole_rows
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.fitting.estimate import estimate, start_at
from sofa_softctl.identification.parameter import Parameter
from sofa_softctl.identification.uncertainty.identifiability import identifiability

REPETITIONS = 200
"""95 % of them are 190, with a standard deviation of 3."""
SHORT = ("outputs", "inputs too")
"""Cases that take seconds."""
AWAY = 0.3
"""Starts are off by up to this, in decades."""
WHAT = ("start", "found", "low", "high")
"""Numbers of each parameter in the file."""


@dataclass(frozen=True, eq=False)
class Coverage:
    """Repeated estimates of one case."""

    case: str
    """Key of `CASES`."""
    names: tuple[str, ...]
    """Names of the parameters."""
    truth: np.ndarray
    """True parameters, shape (n_rho,)."""
    found: np.ndarray
    """Estimates, shape (n, n_rho)."""
    low: np.ndarray
    """Lower ends of their 95 % intervals, shape (n, n_rho)."""
    high: np.ndarray
    """Upper ends, shape (n, n_rho)."""
    solved: int
    """Number of searches that converged."""

    @property
    def held(self) -> np.ndarray:
        """Share of the intervals that contain the truth [-], shape (n_rho,)."""
        inside = (self.low <= self.truth) & (self.truth <= self.high)
        share: np.ndarray = inside.mean(axis=0)
        return share

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        error = self.found.std(axis=0) / np.sqrt(len(self.found))
        columns = {
            "held": self.held,
            "mean": self.found.mean(axis=0),
            "error_of_mean": error,
            "truth": self.truth,
            "half_width": np.median(0.5 * (self.high - self.low), axis=0),
        }
        return {"case": self.case, "repetitions": len(self.found), "solved": self.solved} | {
            name: dict(zip(self.names, values.tolist(), strict=True))
            for name, values in columns.items()
        }


def measure_coverage(
    path: Path,
    progress: Callable[[int], None] | None = None,
    *,
    cases: Sequence[str] = SHORT,
    repetitions: int = REPETITIONS,
    executor: Executor | None = None,
) -> list[Coverage]:
    """Repeat the estimates until the file has `repetitions` of each case, and read them all.

    Each estimate is one line, with its own seed: after a kill, the same call continues, with the
    same numbers.

    Args:
        path: CSV file; continued if it exists.
        progress: Called after each estimate with the number of estimates.
        cases: Keys of `CASES`.
        repetitions: Number of estimates of each case in the file at the end.
        executor: Makes several estimates at a time; None: one by one. The file is the same.

    Raises:
        IdentificationError: The file is not one of this benchmark; there is no such case.
        WorkerError: Two worker processes died with the same estimate.
    """
    for name in cases:
        if name not in CASES:
            raise IdentificationError(f"There is no case '{name}'. There are: {', '.join(CASES)}.")
    header = _header()
    done = {(row["case"], int(row["seed"])): row for row in whole_rows(path, header)}
    wanted = [(case, seed) for seed in range(repetitions) for case in cases]
    left = [each for each in wanted if each not in done]
    count = len(wanted) - len(left)
    with lost_workers(GOES_ON), path.open("a", newline="") as file:
        writer = csv.DictWriter(file, header, lineterminator="\n")
        if not done:
            file.truncate(0)
            writer.writeheader()
        given = ([case for case, _ in left], [seed for _, seed in left])
        for each, row in zip(left, in_order(executor, _repeat, *given), strict=True):
            done[each] = row
            writer.writerow(row)
            file.flush()
            count += 1
            if progress is not None:
                progress(count)
    return [_coverage(name, [done[name, seed] for seed in range(repetitions)]) for name in cases]


def _coverage(name: str, rows: list[dict[str, str]]) -> Coverage:
    names = tuple(CASES[name].truth)
    found, low, high = (
        np.array([[float(row[f"{one} {what}"]) for one in names] for row in rows])
        for what in WHAT[1:]
    )
    truth = np.array(list(CASES[name].truth.values()))
    solved = sum(row["status"] == "SOLVED" for row in rows)
    return Coverage(name, names, truth, found, low, high, solved)


def _repeat(name: str, seed: int) -> dict[str, str]:
    """One estimate from new noise and a new start, as a line of the file."""
    case, rng = CASES[name], np.random.default_rng(seed)
    problem = case.problem()
    experiment = problem.experiment(case.recording(problem, rng))
    begin = {one.name: _start(one, case, rng) for one in problem.parameters}
    found = estimate([experiment], start_at(problem.parameters, begin))
    trust = identifiability(found, [experiment])
    row = {"case": name, "seed": str(seed), "status": found.status.name}
    for k, one in enumerate(found.names):
        numbers = (begin[one], found.rho[k], trust.low[k], trust.high[k])
        row |= {f"{one} {what}": repr(float(x)) for what, x in zip(WHAT, numbers, strict=True)}
    return row


def _start(one: Parameter, case: Case, rng: np.random.Generator) -> float:
    """A start within a factor of the truth, and within its bounds."""
    away = case.truth[one.name] * 10.0 ** rng.uniform(-AWAY, AWAY)
    return float(np.clip(away, one.lower, one.upper))


def _header() -> list[str]:
    names = dict.fromkeys(name for case in CASES.values() for name in case.truth)
    return ["case", "seed", "status", *(f"{name} {what}" for name in names for what in WHAT)]
