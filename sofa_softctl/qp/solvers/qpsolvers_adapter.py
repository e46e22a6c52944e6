"""Adapter for the solvers of the package qpsolvers, as "qpsolvers:NAME"."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from sofa_softctl.errors import PluginError, ProblemError
from sofa_softctl.qp.problem import QP, QPResult, QPSolver, no_solution

if TYPE_CHECKING:
    import qpsolvers

_TIGHT: dict[str, dict[str, Any]] = {
    # The defaults of these are too loose for our check; the others are left alone.
    "clarabel": {"tol_feas": 1e-12, "tol_gap_abs": 1e-12, "tol_gap_rel": 0.0},
    "daqp": {"primal_tol": 1e-9, "eta_prox": 1e-10},
    "osqp": {"eps_abs": 1e-10, "eps_rel": 0.0, "max_iter": 20000},
    "piqp": {"eps_abs": 1e-11, "eps_rel": 0.0, "eps_duality_gap_abs": 1e-11},
    "proxqp": {
        "eps_abs": 1e-10,
        "eps_rel": 0.0,
        "check_duality_gap": True,
        "max_iter": 200,
        "eps_duality_gap_abs": 1e-10,
        "eps_duality_gap_rel": 0.0,
    },
    "scs": {"eps_abs": 1e-11, "eps_rel": 0.0, "max_iters": 20000},
}


@cache
def from_qpsolvers(name: str) -> QPSolver:
    """Return the solver `name` of qpsolvers, with the interface `qp.QPSolver`.

    It is slower by 30 us a call than a native interface and starts cold.
    """
    import qpsolvers  # 0.6 s: it imports every installed solver

    if name not in qpsolvers.available_solvers:
        installed = ", ".join(qpsolvers.available_solvers)
        if importlib.util.find_spec(f"qpsolvers.solvers.{name}_") is None:
            raise ProblemError(f"qpsolvers knows no solver '{name}'. Installed: {installed}.")
        raise PluginError(
            f"The QP solver 'qpsolvers:{name}' needs a package that is not installed: "
            f"pip install 'qpsolvers[{name}]'. Installed: {installed}."
        )
    options = _TIGHT.get(name, {})
    sparse = name not in qpsolvers.dense_solvers

    def solve_adapted(qp: QP, warm: QPResult | None = None) -> QPResult:
        del warm  # few solvers of qpsolvers can use the multipliers
        problem, multipliers = _to_qpsolvers(qp, sparse)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # `found` reports failures
                solution = qpsolvers.solve_problem(problem, name, **options)
        except (qpsolvers.QPError, ValueError, ArithmeticError) as error:
            return no_solution(qp, "failed", 0, str(error))
        if not solution.found or solution.x is None:
            return no_solution(qp, "failed", 0, "no solution found")
        return QPResult(np.array(solution.x), multipliers(solution), "solved", 0, "")

    return solve_adapted


def _to_qpsolvers(
    qp: QP, sparse: bool
) -> tuple[qpsolvers.Problem, Callable[[qpsolvers.Solution], np.ndarray]]:
    """Return the QP as G x <= h, A x = b, and a function that takes multipliers off a solution."""
    import qpsolvers

    rows = np.concatenate((np.eye(len(qp.g)), qp.A))  # (n + m, n)
    equal = qp.lower == qp.upper
    above = ~equal & (qp.upper < np.inf)
    below = ~equal & (qp.lower > -np.inf)
    G = np.concatenate((rows[above], -rows[below]))
    h = np.concatenate((qp.upper[above], -qp.lower[below]))
    matrix = scipy.sparse.csc_matrix if sparse else np.array
    problem = qpsolvers.Problem(
        matrix(qp.H),
        np.array(qp.g),
        matrix(G) if len(G) else None,
        h if len(G) else None,
        matrix(rows[equal]) if equal.any() else None,
        qp.upper[equal] if equal.any() else None,
    )

    def multipliers(solution: qpsolvers.Solution) -> np.ndarray:
        y = np.zeros_like(qp.lower)
        if len(G):
            z_above, z_below = np.split(np.asarray(solution.z), [int(above.sum())])
            y[above] += z_above
            y[below] -= z_below
        if equal.any():
            y[equal] = solution.y
        return y

    return problem, multipliers
