"""Check of QP solvers: known solutions, inverse problems, warm starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields

import numpy as np
from scipy.sparse import csc_array

from sofa_softctl.qp.problem import (
    QP,
    QPResult,
    QPSolver,
    SparseQP,
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

SOLVER_NAME = "the checked solver"
SEEDS = range(8)


def check_qp_solver(
    solve: QPSolver | SparseQPSolver, *, sparse: bool = False, tolerance: float | None = None
) -> None:
    """Check a QP solver: a function (qp, warm) -> QPResult, see `qp.problem.QPSolver`.

    It solves small problems with known solutions (degenerate, singular, badly scaled, without
    limits, infeasible) and random ones, also from earlier solutions. A dense solver also solves the
    inverse problems of `qpcc.examples`; problems with contacts use the usual fallback, too, as
    their search solves QPs at the edge of feasibility. Each solution passes the check of
    `qp.verified`. Started from the solution of another problem, it does not return that solution.

    Args:
        solve: The solver; it need not be registered.
        sparse: The solver takes a `SparseQP`.
        tolerance: Largest KKT residual of a solution [-]; by default 1e-8, as in inverse control,
            and 1e-6 for a sparse solver, as in planning.

    Raises:
        AssertionError: The solver fails for a problem; the message names it.
    """
    if tolerance is None:
        tolerance = 1e-6 if sparse else 1e-8
    checked = NamedSolver(of_sparse(solve) if sparse else solve)  # type: ignore[arg-type]
    x_tolerance = (
        300.0 * tolerance
    )  # of x and multipliers; the problems' condition numbers are about 10
    with _register_solver(checked):
        for known_qp in known_qps():
            checked.problem = known_qp.name
            if known_qp.x is None:
                _check_infeasible(known_qp.name, known_qp.qp, checked, tolerance)
            else:
                solution = _solve_verified(known_qp.name, known_qp.qp, tolerance)
                _check_close(known_qp.name, "x", solution.x, known_qp.x, x_tolerance)
                if known_qp.y is not None:
                    _check_close(
                        known_qp.name, "the multipliers", solution.y, known_qp.y, x_tolerance
                    )
        for seed in SEEDS:
            for options in ({}, {"rank": 2}, {"equalities": 2}):
                _check_random(seed, checked, tolerance, options)
        if not sparse:
            _check_inverse_problems(checked, tolerance)


def _check_infeasible(name: str, qp: QP, solve: NamedSolver, tolerance: float) -> None:
    """Check that no solution passes, and that a reported failure has a message."""
    result = solve(qp, None)
    if result.outcome != "solved" and not result.message:
        raise AssertionError(f"{name}: expected a message with the outcome '{result.outcome}'.")
    checked = solve_checked(qp, solvers=(SOLVER_NAME,), tolerance=tolerance)
    if checked.result is not None:
        raise AssertionError(f"{name}: expected no answer, got x = {checked.result.x}.")


def _check_random(seed: int, solve: NamedSolver, tolerance: float, options: dict[str, int]) -> None:
    name = f"random problem {seed} {options or ''}".rstrip()
    solve.problem = name
    qp = random_qp(seed, **options)
    arrays = {problem_field.name: getattr(qp, problem_field.name) for problem_field in fields(qp)}
    copies = {key: array.copy() for key, array in arrays.items()}
    solve(qp, None)
    for key, array in arrays.items():
        if not np.array_equal(array, copies[key]):
            raise AssertionError(f"{name}: expected the solver to leave {key} as it is.")
    cold = _solve_verified(name, qp, tolerance)
    similar = QP(qp.H, qp.g + 0.1 * qp.H.sum(axis=0), qp.A, qp.lower, qp.upper)
    start = solve(similar, None)
    warm = _solve_verified(f"{name}, from the answer of a similar one", qp, tolerance, start)
    _check_far_start(name, qp, solve, solve(random_qp(seed + 100, **options), None), tolerance)
    if "rank" not in options:  # otherwise the minimisers are many
        _check_close(
            f"{name}, from the answer of a similar one", "x", warm.x, cold.x, 100.0 * tolerance
        )


def _check_far_start(
    name: str, qp: QP, solve: NamedSolver, start: QPResult, tolerance: float
) -> None:
    """Check that the solver does not return its start, the solution of a different problem.

    Another wrong result does no harm: the solver is called again without the start.
    """
    result = solve(qp, start)
    is_start = result.x.shape == start.x.shape and np.allclose(
        result.x, start.x, rtol=1e-9, atol=1e-9
    )
    if is_start and not kkt_residual(qp, result.x, result.y) <= tolerance:
        raise AssertionError(
            f"{name}, from the answer of another one: expected its own answer, got the other one "
            f"again, x = {result.x}."
        )


def _check_inverse_problems(solve: NamedSolver, tolerance: float) -> None:
    problems: list[NamedProblem | ContactProblem] = [*all_problems(), *contact_problems()]
    for example in problems:
        solve.problem = example.name
        fallback = SOLVER_NAME if example.problem.contacts is None else "proxqp"
        solution = solve_inverse(
            example.problem, solver=SOLVER_NAME, fallback=fallback, tolerance=tolerance
        )
        status = solution.status
        if (
            fallback != SOLVER_NAME and status is Status.FALLBACK
        ):  # which other solver answered is its own
            status = Status.CLOSEST_FEASIBLE if solution.relaxed else Status.SOLVED
        if status is not example.status:
            raise AssertionError(
                f"{example.name}: expected the status {example.status.name}, got "
                f"{solution.status.name}. {solution.message}"
            )
        _check_close(example.name, "the efforts", solution.effort, example.effort)


def _solve_verified(name: str, qp: QP, tolerance: float, warm: QPResult | None = None) -> QPResult:
    checked = solve_checked(qp, solvers=(SOLVER_NAME,), tolerance=tolerance, warm=warm)
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


def _check_close(
    name: str, label: str, actual: np.ndarray, expected: np.ndarray, tolerance: float = 3e-6
) -> None:
    is_known = np.isfinite(expected)
    scale = np.abs(expected[is_known]).max(initial=0.0) or 1.0
    if not (np.abs(actual - expected)[is_known] <= tolerance * scale).all():
        raise AssertionError(f"{name}: expected {label} {expected}, got {actual}.")


@contextmanager
def _register_solver(solve: QPSolver) -> Iterator[None]:
    with DENSE.kept():
        register(SOLVER_NAME, solve)
        yield


class NamedSolver:
    """A solver whose exceptions become an AssertionError that names the problem."""

    def __init__(self, solve: QPSolver) -> None:
        self.solve = solve
        self.problem = ""
        """Name of the current problem."""

    def __call__(self, qp: QP, warm: QPResult | None) -> QPResult:
        """Solve a QP, as a `qp.problem.QPSolver`."""
        try:
            result = self.solve(qp, warm)
        except Exception as error:
            raise AssertionError(
                f"{self.problem}: expected a QPResult, but the solver raised "
                f"{type(error).__name__}: {error}"
            ) from error
        if not isinstance(result, QPResult):
            raise AssertionError(f"{self.problem}: expected a QPResult, got {result!r}.")
        return result


def of_sparse(solve: SparseQPSolver) -> QPSolver:
    """Return a solver of dense problems that calls a solver of sparse ones."""

    def solve_dense(qp: QP, warm: QPResult | None) -> QPResult:
        sparse = SparseQP(csc_array(qp.H), qp.g, csc_array(qp.A), qp.lower, qp.upper)
        return solve(sparse, warm)

    return solve_dense
