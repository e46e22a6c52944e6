"""Inverse problems with contacts as arrays: random, or captured from scenes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.errors import ProblemError
from sofa_softctl.qpcc.contacts import Contacts, Law, NormalSum
from sofa_softctl.qpcc.problem import InverseProblem
from sofa_softctl.qpcc.search_options import SearchOptions
from sofa_softctl.qpcc.solve import solve


def random_problem(
    rng: np.random.Generator,
    *,
    n_a: int = 4,
    n_e: int = 3,
    n_c: int = 3,
    friction: float = 0.6,
    law: Law | None = None,
    energy: float = 1e-3,
    pull: bool = True,
    nodes: int | None = None,
) -> InverseProblem:
    """A problem whose compliances are those of an elastic body, W = H A^-1 H^T.

    The body is a chain of nodes held softly in place, with random links. Each contact is a random
    frame at a node of its own, as far as there are nodes; each actuator pulls nodes in random
    directions; the effectors are coordinates of nodes. The free motion brings about half of the
    contacts into interpenetration.

    Args:
        rng: Source of randomness.
        n_a: Number of actuators.
        n_e: Number of effector rows.
        n_c: Number of contacts.
        friction: Coefficient of friction of the contacts; 0 gives contacts of one row.
        law: What contacts may do.
        energy: Weight of the energy term.
        pull: Whether actuators are cables: effort at least zero, and of a limited displacement.
        nodes: Number of nodes of the body. Fewer nodes than contacts make contacts that depend on
            each other.
    """
    nodes = nodes or n_c + n_a + 2
    n = 3 * nodes
    A = np.kron(_links(rng, nodes), np.eye(3)) + 0.1 * np.eye(n)
    H_a = rng.normal(size=(n_a, n)) * (rng.random((n_a, n)) < 0.4)
    H_a[np.arange(n_a), rng.integers(n, size=n_a)] += 1.0
    H_e = np.eye(n)[rng.choice(n, n_e, replace=n_e > n)]
    rows = 3 if friction > 0.0 else 1
    H_c = np.zeros((rows * n_c, n))
    order = rng.permutation(nodes)
    for c in range(n_c):
        node = order[c % nodes]
        frame, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        H_c[rows * c : rows * (c + 1), 3 * node : 3 * node + 3] = frame[:rows]
    H = np.concatenate((H_e, H_a, H_c))
    W = H @ np.linalg.solve(A, H.T)
    e, a, r = slice(0, n_e), slice(n_e, n_e + n_a), slice(n_e + n_a, None)
    free = H_c @ rng.normal(size=n) * 0.5
    contacts = Contacts(
        W_ec=W[e, r],
        W_ac=W[a, r],
        W_cc=0.5 * (W[r, r] + W[r, r].T),
        delta_c_free=free,
        friction=np.full(n_c, friction),
        law=law or Law(),
    )
    limits: dict[str, Any] = {}
    if pull:
        limits = {"effort_min": 0.0, "displacement_max": rng.uniform(1.0, 4.0, n_a)}
    return InverseProblem(
        W_ea=W[e, a],
        W_aa=0.5 * (W[a, a] + W[a, a].T),
        delta_e_free=rng.normal(size=n_e),
        delta_a_free=np.zeros(n_a),
        energy=energy,
        contacts=contacts,
        **limits,
    )


def _links(rng: np.random.Generator, nodes: int) -> np.ndarray:
    """Graph Laplacian of a chain with some random links, shape (nodes, nodes)."""
    L = np.zeros((nodes, nodes))
    pairs = [(i, i + 1) for i in range(nodes - 1)]
    pairs += [tuple(rng.choice(nodes, 2, replace=False)) for _ in range(nodes // 2)]
    for i, j in pairs:
        stiffness = rng.uniform(0.5, 2.0)
        L[[i, j], [i, j]] += stiffness
        L[[i, j], [j, i]] -= stiffness
    return L


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
