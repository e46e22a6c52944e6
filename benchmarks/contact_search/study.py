"""Optimality gap of the contact mode search on random problems."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from functools import cache, partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from benchmarks.contact_search.enumeration import Best, enumerate_modes
from benchmarks.table import Row, completed_rows
from sofa_softctl.base.executors.retry import as_done
from sofa_softctl.qpcc.problem.modes import SearchOptions
from sofa_softctl.qpcc.problem.problem import InverseProblem
from sofa_softctl.qpcc.solve.solve import solve
from tests.support.answer_check import check_answer
from tests.support.random_contact_problems import KINDS, kind_of, random_contact_problem

NEGLIGIBLE = 1e-8
"""Objectives below this share of the free motion's count as that much [-]."""
BEATEN = 1e-3
"""Loss from which on an answer that was called optimal is beaten [-]."""
LAW_KEPT = 1e-5
"""Distance from the contact law at which an answer still obeys it [-]."""


class SearchRow(NamedTuple):
    """One answer of one search, beside the best one."""

    strategy: str
    """`SearchOptions.strategy`."""
    seed: int
    """Of the corpus."""
    number: int
    """Of the problem in it."""
    contacts: int
    """Most contacts of the corpus."""
    kind: str
    """Kind of the problem."""
    n_c: int
    """Contacts."""
    n_a: int
    """Actuators."""
    n_e: int
    """Effector rows."""
    status: str
    """Name of the answer's `Status`."""
    objective: float
    """Of the answer, recomputed from its efforts and forces [displacement^2]."""
    reference: float
    """Of the best answer; inf if the limits contradict each other [displacement^2]."""
    bound: float
    """No answer has a lower objective, says the enumeration [displacement^2]."""
    loss: float
    """(objective - reference) / reference [-]; NaN unless both are within all limits."""
    gap: float
    """What the answer says of its distance from its own bound [-]."""
    optimal: bool
    """Whether the answer is called optimal: solved, with at most `SearchOptions.gap`."""
    false_contradiction: bool
    """Whether it says that limits contradict each other, or nothing, where an answer exists."""
    unreported: int
    """Exceeded limits that it does not name, and contact laws that it breaks."""
    violation: float
    """1/2 the sum of the squared excesses of soft limits [energy]."""
    least_violation: float
    """The least one [energy]."""
    excess: float
    """(violation - least) / least [-]; NaN where an answer within all limits exists."""
    proven: bool
    """Whether the enumeration came to its end."""
    cpu_ms: float
    """CPU time of the search [ms]."""
    reference_cpu_ms: float
    """CPU time of the enumeration [ms]."""


def compare_search(problem: InverseProblem, best: Best, search: SearchOptions) -> dict[str, Any]:
    """The fields of a `SearchRow` that are known of any problem, without a corpus.

    Args:
        problem: A problem with contacts.
        best: Its best answer, from `enumerate_modes`.
        search: The search to measure, without a warm start.
    """
    assert problem.contacts is not None
    start = process_time()
    answer = solve(problem, search=search)
    cpu = process_time() - start
    check = check_answer(problem, answer)
    free = 0.5 * float(np.square(problem.effector_weight * problem.delta_e_free).sum())
    solved = answer.within_limits
    loss = excess = math.nan
    if best.feasible and solved:
        worth = max(best.objective, NEGLIGIBLE * free)
        loss = (check.objective - best.objective) / worth if worth > 0.0 else 0.0
    if not best.feasible:
        excess = (check.violation - best.violation) / best.violation
    return {
        "strategy": search.strategy,
        "n_c": problem.contacts.n_c,
        "n_a": problem.n_a,
        "n_e": problem.n_e,
        "status": answer.status.name,
        "objective": check.objective,
        "reference": best.objective if best.feasible else math.inf,
        "bound": best.bound,
        "loss": loss,
        "gap": answer.gap,
        "optimal": solved and answer.gap <= search.gap * (1.0 + 1e-6),
        "false_contradiction": best.feasible and not solved,
        "unreported": len(check.unreported) + (check.law_error > LAW_KEPT),
        "violation": check.violation,
        "least_violation": best.violation,
        "excess": excess,
        "proven": best.complete,
        "cpu_ms": 1e3 * cpu,
    }


def measure_search(
    path: Path,
    progress: Callable[[int], None] | None = None,
    *,
    problems: int = 1000,
    seed: int = 0,
    contacts: int = 6,
    strategies: Sequence[str] = ("auto",),
    executor: Executor | None = None,
) -> list[SearchRow]:
    """Measure searches on the first problems of a seed, and read all their rows.

    Every problem is a line of its own for each search: after a kill, the same call goes on. A line
    that is there is not computed again, so give another name after a change of the search.

    Args:
        path: CSV file; continued if it exists.
        progress: Called after each row with the number of rows.
        problems: How many; problem k is `random_contact_problem(seed, k, contacts)`.
        seed: Of the corpus.
        contacts: Most contacts of a problem.
        strategies: What `SearchOptions.strategy` is set to.
        executor: Does several problems at a time; None: one by one, here.

    Raises:
        SoftctlError: The file is not one of this benchmark.
        WorkerError: Two worker processes died with the same problem.
    """
    random_contact_problem(seed, 0, contacts)  # raises what is wrong with the arguments
    wanted = [(name, seed, k, contacts) for name in sorted(strategies) for k in range(problems)]
    one = partial(measure_problem, seed, contacts=contacts, strategies=tuple(strategies))

    def work(missing: list[tuple[str, int, int, int]]) -> Iterator[Row]:
        numbers = sorted({number for _, _, number, _ in missing})
        for rows in as_done(executor, one, numbers):
            for row in rows:
                if (row.strategy, seed, row.number, contacts) in missing:
                    yield {name: _text(value) for name, value in row._asdict().items()}

    rows = completed_rows(path, SearchRow._fields, wanted, _key, work, progress)
    return [_row(row) for row in rows]


def measure_problem(
    seed: int, k: int, *, contacts: int, strategies: tuple[str, ...]
) -> list[SearchRow]:
    """The rows of one problem, one for each search."""
    _compile()
    problem = random_contact_problem(seed, k, contacts)
    start = process_time()
    best = enumerate_modes(problem)
    corpus: dict[str, Any] = {
        "seed": seed,
        "number": k,
        "contacts": contacts,
        "kind": kind_of(k),
        "reference_cpu_ms": 1e3 * (process_time() - start),
    }
    rows = []
    for name in strategies:
        search = SearchOptions(name)  # type: ignore[arg-type]
        rows.append(SearchRow(**corpus, **compare_search(problem, best, search)))
    return rows


@cache
def _compile() -> None:
    """Solve once what is not measured, so that compilation does not count."""
    solve(random_contact_problem(0, 0, 3))


def summary(rows: Sequence[SearchRow]) -> dict[str, dict[str, dict[str, float]]]:
    """Figures by strategy and kind, and of all kinds together ("all"). See `figures`."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name in dict.fromkeys(row.strategy for row in rows):
        mine = [row for row in rows if row.strategy == name]
        parts = {kind: [row for row in mine if row.kind == kind] for kind in KINDS}
        found[name] = {kind: figures(part) for kind, part in parts.items() if part}
        found[name]["all"] = figures(mine)
    return found


def figures(rows: Sequence[SearchRow]) -> dict[str, float]:
    """Counts, and quantiles of loss, excess and CPU time, of at least one row."""
    loss = np.array([row.loss for row in rows if not math.isnan(row.loss)])
    excess = np.array([row.excess for row in rows if not math.isnan(row.excess)])
    cpu = np.array([row.cpu_ms for row in rows])
    return {
        "problems": len(rows),
        "proven": sum(row.proven for row in rows),
        "called optimal": sum(row.optimal for row in rows),
        "best": int((loss <= 1e-4).sum()),
        "compared": len(loss),
        "loss median": _quantile(loss, 0.5),
        "loss p99": _quantile(loss, 0.99),
        "loss worst": _quantile(loss, 1.0),
        "beaten though called optimal": sum(row.optimal and row.loss > BEATEN for row in rows),
        "false contradictions": sum(row.false_contradiction for row in rows),
        "unreported violations": sum(row.unreported > 0 for row in rows),
        "contradictions": len(excess),
        "excess above 1 %": int((excess > 0.01).sum()),
        "excess worst": _quantile(excess, 1.0),
        "better than the reference": int((loss < -BEATEN).sum() + (excess < -BEATEN).sum()),
        "CPU median [ms]": _quantile(cpu, 0.5),
        "CPU p99 [ms]": _quantile(cpu, 0.99),
        "CPU worst [ms]": _quantile(cpu, 1.0),
    }


def _quantile(values: np.ndarray, share: float) -> float:
    return float(np.quantile(values, share)) if len(values) else math.nan


def _key(row: Row) -> tuple[str, int, int, int]:
    return row["strategy"], int(row["seed"]), int(row["number"]), int(row["contacts"])


def _text(value: Any) -> str:
    return repr(float(value)) if isinstance(value, float) else str(value)


def _row(row: Row) -> SearchRow:
    values: list[Any] = [read(row[name]) for name, read in _READERS.items()]
    return SearchRow(*values)


def _truth(text: str) -> bool:
    return text == "True"


_READERS = {
    name: _truth if kind is bool else kind for name, kind in get_type_hints(SearchRow).items()
}
"""What reads each field of a `SearchRow` from text."""
