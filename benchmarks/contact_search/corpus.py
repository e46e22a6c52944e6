"""Inverse problems with contacts as arrays: random, or captured from scenes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.errors import ProblemError
from sofa_softctl.qpcc.problem.contacts import Contacts, Law, NormalSum
from sofa_softctl.qpcc.problem.modes import SearchOptions
from sofa_softctl.qpcc.problem.problem import InverseProblem
from sofa_softctl.qpcc.solve.solve import solve

_PROBLEM = (
    "W_ea",
    "W_aa",
    "delta_e_free",
    "delta_a_free",
    "effector_weight",
    "effort_min",
    "effort_max",
    "effort_previous",
    "effort_rate",
    "effort_fixed",
    "displacement_min",
    "displacement_max",
    "displacement_previous",
    "displacement_rate",
    "displacement_fixed",
    "energy",
)
_CONTACTS = ("W_ec", "W_ac", "W_cc", "delta_c_free", "friction")


def save_corpus(path: str | Path, problems: Iterable[InverseProblem]) -> None:
    """Write problems to an .npz file, without pickle. Identities and pairs are kept as text."""
    arrays: dict[str, np.ndarray] = {}
    k = -1
    for k, problem in enumerate(problems):
        for name in _PROBLEM:
            arrays[f"{k}/{name}"] = np.asarray(getattr(problem, name))
        arrays[f"{k}/names"] = np.array(problem.names, dtype=str)
        if problem.energy_rows is not None:
            arrays[f"{k}/energy_rows"] = problem.energy_rows
        c = problem.contacts
        if c is None:
            continue
        for name in _CONTACTS:
            arrays[f"{k}/contacts/{name}"] = getattr(c, name)
        arrays[f"{k}/contacts/identity"] = np.array([str(i) for i in c.identity], dtype=str)
        arrays[f"{k}/contacts/names"] = np.array(c.names, dtype=str)
        arrays[f"{k}/contacts/pairs"] = np.array([str(pair) for pair in c.pairs], dtype=str)
        arrays[f"{k}/contacts/law"] = np.array(c.law.friction)
        arrays[f"{k}/contacts/energy"] = np.array(c.energy)
        for j, entry in enumerate(c.sums):
            arrays[f"{k}/contacts/sum/{j}"] = np.asarray(entry.contacts)
            arrays[f"{k}/contacts/sum/{j}/bounds"] = np.array([entry.minimum, entry.maximum])
            arrays[f"{k}/contacts/sum/{j}/name"] = np.array(entry.name)
    np.savez_compressed(path, count=np.array(k + 1), **arrays)  # type: ignore[arg-type]


def load_corpus(path: str | Path) -> list[InverseProblem]:
    """The problems that `save_corpus` wrote."""
    with np.load(path, allow_pickle=False) as arrays:
        return [_load(arrays, f"{k}/") for k in range(int(arrays["count"]))]


def _load(arrays: Any, at: str) -> InverseProblem:
    values = {name: arrays[at + name] for name in _PROBLEM}
    values["energy"] = float(values["energy"])
    values["names"] = tuple(map(str, arrays[at + "names"]))
    if at + "energy_rows" in arrays:
        values["energy_rows"] = arrays[at + "energy_rows"]
    at += "contacts/"
    if at + "W_cc" not in arrays:
        return InverseProblem(**values)
    sums: list[NormalSum] = []
    while f"{at}sum/{len(sums)}" in arrays:
        key = f"{at}sum/{len(sums)}"
        low, high = map(float, arrays[key + "/bounds"])
        sums.append(NormalSum(str(arrays[key + "/name"]), arrays[key], low, high))
    contacts = Contacts(
        **{name: arrays[at + name] for name in _CONTACTS},
        identity=tuple(map(str, arrays[at + "identity"])),
        names=tuple(map(str, arrays[at + "names"])),
        pairs=tuple(map(str, arrays[at + "pairs"])) if at + "pairs" in arrays else (),
        sums=tuple(sums),
        law=Law(str(arrays[at + "law"])),  # type: ignore[arg-type]
        energy=bool(arrays[at + "energy"]),
    )
    return InverseProblem(**values, contacts=contacts)


def measure(
    problems: Iterable[InverseProblem],
    search: SearchOptions,
    reference: SearchOptions | None = None,
) -> dict[str, float]:
    """Measure optimality gap and time of a search.

    Args:
        problems: Problems with contacts.
        search: The search that is measured, each time without a warm start.
        reference: The search that gives the best answers. Default: "exact" with 1000 nodes.

    Returns:
        `statistics` of (objective - best) / best over the problems that both solve, the share of
        those that the reference solves and the search does not ("lost"), that are proven to be the
        best ones ("proven"), and the median time of each search [s].
    """
    reference = reference or SearchOptions("exact", nodes=1000)
    gaps, times, best_times, proven = [], [], [], []
    lost = 0
    for problem in problems:
        best = solve(problem, search=reference)
        if not best.within_limits:
            continue
        answer = solve(problem, search=search)
        times.append(answer.solve_time)
        best_times.append(best.solve_time)
        proven.append(best.gap <= reference.gap * (1.0 + 1e-6))
        if answer.within_limits:
            worth = 0.5e-8 * float(np.square(problem.effector_weight * problem.delta_e_free).sum())
            gaps.append((answer.objective - best.objective) / max(best.objective, worth))
        else:
            lost += 1
    if not gaps:
        raise ProblemError("None of the problems was solved by both searches.")
    return statistics(gaps) | {
        "lost": lost / len(times),
        "proven": float(np.mean(proven)),
        "time": float(np.median(times)),
        "reference_time": float(np.median(best_times)),
    }


def statistics(gaps: Sequence[float]) -> dict[str, float]:
    """Statistics of the gaps: share of optimal answers (to 1e-6), quantiles, maximum."""
    values = np.asarray(gaps, dtype=float)
    return {
        "count": float(len(values)),
        "best": float((values <= 1e-6).mean()),
        "median": float(np.median(values)),
        "p90": float(np.quantile(values, 0.9)),
        "p99": float(np.quantile(values, 0.99)),
        "largest": float(values.max()),
    }
