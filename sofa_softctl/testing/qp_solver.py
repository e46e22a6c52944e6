"""Check of QP solvers: known answers, inverse problems, warm starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields

import numpy as np

from sofa_softctl.qp.problem import (
    QP,
    QPResult,
    QPSolver,
    SparseQPSolver,
    kkt_residual,
)
from sofa_softctl.qp.solvers import DENSE, register
from sofa_softctl.qp.verified import solve_checked
from sofa_softctl.qpcc.examples.contacts import ContactProblem, contact_problems
from sofa_softctl.qpcc.examples.free import NamedProblem, all_problems
from sofa_softctl.qpcc.solve.solve import solve as solve_inverse
from sofa_softctl.status import Status
from sofa_softctl.testing.known_qps import known_qps, random_qp
from sofa_softctl.testing.named_solver import NamedSolver, of_sparse

NAME = "the checked solver"
SEEDS = range(8)


def check_qp_solver(
    solve: QPSolver | SparseQPSolver, *, sparse: bool = False, tolerance: float | None = None
) -> None:
    """Check a QP solver: a function (qp, warm) -> QPResult, see `qp.problem.QPSolver`.

    It solves small problems with known answers (degenerate, singular, badly scaled, without limits,
    infeasible) and random ones, from earlier answers too; a dense one also the inverse problems of
    `qpcc.examples`, those with contacts together with the usual fallback, as their search asks for
    QPs at the edge of what is feasible. Each answer passes the check of `qp.verified`. Started from
    the answer of another problem it does not return that one.

    Args:
        solve: The solver; it need not be registered.
        sparse: Whether it takes a `SparseQP`.
        tolerance: Largest KKT residual of an answer [-]; by default that of inverse control, 1e-8,
            and for a sparse one that of planning, 1e-6.

    Raises:
        AssertionError: Which problem, what was expected and what came; its cause is what the solver
            raised, where it did.
    """
    if tolerance is None:
        tolerance = 1e-6 if sparse else 1e-8
    checked = NamedSolver(of_sparse(solve) if sparse else solve)  # type: ignore[arg-type]
    near = 300.0 * tolerance  # of x and multipliers; the problems' condition numbers are about 10
    with _registered(checked):
        for known in known_qps():
            checked.problem = known.name
            if known.x is None:
                _check_infeasible(known.name, known.qp, checked, tolerance)
            else:
                found = _verified(known.name, known.qp, tolerance)
                _close(known.name, "x", found.x, known.x, near)
                if known.y is not None:
                    _close(known.name, "the multipliers", found.y, known.y, near)
        for seed in SEEDS:
            for options in ({}, {"rank": 2}, {"equalities": 2}):
                _check_random(seed, checked, tolerance, options)
        if not sparse:
            _check_inverse_problems(checked, tolerance)


def _check_infeasible(name: str, qp: QP, solve: NamedSolver, tolerance: float) -> None:
    """Whatever the solver says of it, no answer passes; where it says so, it says why."""
    result = solve(qp, None)
    if result.outcome != "solved" and not result.message:
        raise AssertionError(f"{name}: expected a message with the outcome '{result.outcome}'.")
    checked = solve_checked(qp, solvers=(NAME,), tolerance=tolerance)
    if checked.result is not None:
        raise AssertionError(f"{name}: expected no answer, got x = {checked.result.x}.")


def _check_random(seed: int, solve: NamedSolver, tolerance: float, options: dict[str, int]) -> None:
    name = f"random problem {seed} {options or ''}".rstrip()
    solve.problem = name
    qp = random_qp(seed, **options)
    arrays = {entry.name: getattr(qp, entry.name) for entry in fields(qp)}
    copies = {key: array.copy() for key, array in arrays.items()}
    solve(qp, None)
    for key, array in arrays.items():
        if not np.array_equal(array, copies[key]):
            raise AssertionError(f"{name}: expected the solver to leave {key} as it is.")
    cold = _verified(name, qp, tolerance)
    other = QP(qp.H, qp.g + 0.1 * qp.H.sum(axis=0), qp.A, qp.lower, qp.upper)
    start = solve(other, None)
    warm = _verified(f"{name}, from the answer of a similar one", qp, tolerance, start)
    _check_far_start(name, qp, solve, solve(random_qp(seed + 100, **options), None), tolerance)
    if "rank" not in options:  # otherwise the minimisers are many
        _close(f"{name}, from the answer of a similar one", "x", warm.x, cold.x, 100.0 * tolerance)


def _check_far_start(
    name: str, qp: QP, solve: NamedSolver, start: QPResult, tolerance: float
) -> None:
    """From the answer of a clearly different problem it must not return that one.

    A wrong answer of another kind does no harm: it is asked for again without the start.
    """
    result = solve(qp, start)
    near = result.x.shape == start.x.shape and np.allclose(result.x, start.x, rtol=1e-9, atol=1e-9)
    if near and not kkt_residual(qp, result.x, result.y) <= tolerance:
        raise AssertionError(
            f"{name}, from the answer of another one: expected its own answer, got the other one "
            f"again, x = {result.x}."
        )


def _check_inverse_problems(solve: NamedSolver, tolerance: float) -> None:
    problems: list[NamedProblem | ContactProblem] = [*all_problems(), *contact_problems()]
    for known in problems:
        solve.problem = known.name
        fallback = NAME if known.problem.contacts is None else "proxqp"
        found = solve_inverse(known.problem, solver=NAME, fallback=fallback, tolerance=tolerance)
        status = found.status
        if fallback != NAME and status is Status.FALLBACK:  # which other solver answered is its own
            status = Status.CLOSEST_FEASIBLE if found.relaxed else Status.SOLVED
        if status is not known.status:
            raise AssertionError(
                f"{known.name}: expected the status {known.status.name}, got {found.status.name}. "
                f"{found.message}"
            )
        _close(known.name, "the efforts", found.effort, known.effort)


def _verified(name: str, qp: QP, tolerance: float, warm: QPResult | None = None) -> QPResult:
    checked = solve_checked(qp, solvers=(NAME,), tolerance=tolerance, warm=warm)
    if checked.result is None:
        raise AssertionError(
            f"{name}: expected an answer with a KKT residual of at most {tolerance:.0e}, got "
            f"{checked.residual:.1e}. {' '.join(checked.notes)}"
        )
    if checked.result.outcome != "solved":
        raise AssertionError(
            f"{name}: expected the outcome 'solved', got '{checked.result.outcome}'."
        )
    return checked.result


def _close(
    name: str, what: str, found: np.ndarray, expected: np.ndarray, tolerance: float = 3e-6
) -> None:
    known = np.isfinite(expected)
    scale = np.abs(expected[known]).max(initial=0.0) or 1.0
    if not (np.abs(found - expected)[known] <= tolerance * scale).all():
        raise AssertionError(f"{name}: expected {what} {expected}, got {found}.")


@contextmanager
def _registered(solve: QPSolver) -> Iterator[None]:
    with DENSE.kept():
        register(NAME, solve)
        yield
