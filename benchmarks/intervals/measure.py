"""Monte-Carlo coverage of confidence intervals: data with new noise, fitted from new starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.intervals.cases import CASES, Case
from benchmarks.intervals.mismatch import MISMATCHED
from benchmarks.table import completed_rows
from sofa_softctl.base.executors.retry import as_done
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.fitting.estimate import Estimate, estimate, start_at
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter
from sofa_softctl.identification.uncertainty.discretisation import discretisation_budget
from sofa_softctl.identification.uncertainty.identifiability import Identifiability, identifiability

REPETITIONS = 200
"""95 % of them are 190, with a standard deviation of 3."""
SHORT = ("outputs", "inputs too")
"""Cases that take seconds."""
AWAY = 0.3
"""Starts are off by up to this, in decades."""
KNOWN = CASES | MISMATCHED
"""All cases, by key."""
WHAT = ("start", "found", "low", "high", "wide low", "wide high")
"""Numbers of each parameter in the file."""


@dataclass(frozen=True, eq=False)
class Coverage:
    """Repeated estimates of one case."""

    case: str
    """Key of `KNOWN`, or of a case that was given."""
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
    wide_low: np.ndarray
    """Lower ends with the error of the discretisation, NaN where it was not asked for."""
    wide_high: np.ndarray
    """Upper ends."""
    solved: int
    """Number of searches that converged."""

    @property
    def held(self) -> np.ndarray:
        """Share of the intervals that contain the truth [-], shape (n_rho,)."""
        return self._share(self.low, self.high)

    @property
    def held_widened(self) -> np.ndarray:
        """The same of the widened ones, NaN where there are none [-], shape (n_rho,).

        An estimate whose error of the discretisation was not found holds nothing.
        """
        share = self._share(self.wide_low, self.wide_high)
        return np.where(np.isnan(self.wide_low).all(axis=0), np.nan, share)

    def _share(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        inside = (low <= self.truth) & (self.truth <= high)
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
        if np.isfinite(self.wide_low).any():
            columns["held_widened"] = self.held_widened
            wide = 0.5 * (self.wide_high - self.wide_low)
            columns["half_width_widened"] = np.nanmedian(wide, axis=0)
        counts: dict[str, Any] = {"case": self.case, "repetitions": len(self.found)}
        counts |= {"solved": self.solved}
        if "held_widened" in columns:
            counts["widened"] = int(np.isfinite(self.wide_low).all(axis=1).sum())
        return counts | {
            name: dict(zip(self.names, values.tolist(), strict=True))
            for name, values in columns.items()
        }


def measure_coverage(
    path: Path,
    progress: Callable[[int], None] | None = None,
    *,
    cases: Sequence[str] = SHORT,
    given: Mapping[str, Case] | None = None,
    repetitions: int = REPETITIONS,
    executor: Executor | None = None,
) -> list[Coverage]:
    """Repeat the estimates until the file has `repetitions` of each case, and read them all.

    Each estimate is one line, with its own seed: after a kill, the same call continues, with the
    same numbers.

    Args:
        path: CSV file; continued if it exists.
        progress: Called after each estimate with the number of estimates.
        cases: Keys of `KNOWN`, or of `given`.
        given: Further cases, such as those of `problem_case`.
        repetitions: Number of estimates of each case in the file at the end.
        executor: Makes several estimates at a time; None: one by one. The rows are the same,
            in the order in which they are done.

    Raises:
        IdentificationError: The file is not one of this benchmark; there is no such case.
        WorkerError: Two worker processes died with the same estimate.
    """
    known = KNOWN | dict(given or {})
    for name in cases:
        if name not in known:
            raise IdentificationError(f"There is no case '{name}'. There are: {', '.join(known)}.")
    wanted = [(case, seed) for seed in range(repetitions) for case in cases]

    def work(left: list[tuple[str, int]]) -> Iterator[dict[str, str]]:
        names = [name for name, _ in left]
        seeds = [seed for _, seed in left]
        return as_done(executor, _repeat, names, [known[name] for name in names], seeds)

    rows = completed_rows(path, _header(known), wanted, _key, work, progress)
    done = dict(zip(wanted, rows, strict=True))
    return [
        _coverage(name, known[name], [done[name, seed] for seed in range(repetitions)])
        for name in cases
    ]


def _key(row: dict[str, str]) -> tuple[str, int]:
    return row["case"], int(row["seed"])


def _coverage(name: str, case: Case, rows: list[dict[str, str]]) -> Coverage:
    names = tuple(case.truth)
    columns = (
        np.array([[float(row.get(f"{one} {what}") or "nan") for one in names] for row in rows])
        for what in WHAT[1:]
    )
    truth = np.array(list(case.truth.values()))
    solved = sum(row["status"] == "SOLVED" for row in rows)
    found, low, high, wide_low, wide_high = columns
    return Coverage(name, names, truth, found, low, high, wide_low, wide_high, solved)


def _repeat(name: str, case: Case, seed: int) -> dict[str, str]:
    """One estimate from new noise and a new start, as a line of the file."""
    rng = np.random.default_rng(seed)
    problem = case.problem()
    made = case.recording(problem, rng)
    experiments = [problem.experiment(one) for one in (made if isinstance(made, list) else [made])]
    begin = {one.name: _start(one, case, rng) for one in problem.parameters}
    found = estimate(
        experiments, start_at(problem.parameters, begin), starts=case.starts, seed=seed
    )
    trust = identifiability(found, experiments)
    columns = [np.array(list(begin.values())), found.rho, trust.low, trust.high]
    if case.budget:
        columns += _widened(found, experiments, trust)
    row = {"case": name, "seed": str(seed), "status": found.status.name}
    for k, one in enumerate(found.names):
        if one in case.truth:
            pairs = zip(WHAT, columns, strict=False)
            row |= {f"{one} {what}": repr(float(values[k])) for what, values in pairs}
    return row


def _widened(
    found: Estimate, experiments: Sequence[Experiment], trust: Identifiability
) -> list[np.ndarray]:
    """Ends of the intervals with the error of the discretisation; NaN where it was not found."""
    budget = discretisation_budget(found, experiments, limit=False)
    if budget.left_out:
        return [np.full(len(found.names), np.nan)] * 2
    return list(budget.widened(trust))


def _start(one: Parameter, case: Case, rng: np.random.Generator) -> float:
    """A start within a factor of the truth, and within its bounds."""
    away = case.truth.get(one.name, one.start) * 10.0 ** rng.uniform(-AWAY, AWAY)
    return float(np.clip(away, one.lower, one.upper))


def _header(cases: Mapping[str, Case]) -> list[str]:
    names = dict.fromkeys(name for case in cases.values() for name in case.truth)
    return ["case", "seed", "status", *(f"{name} {what}" for name in names for what in WHAT)]
