"""osqp: operator splitting for sparse QPs; slow, but it fails on other problems. Optional."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from sofa_softctl.qp.problem import QPResult, SparseQP, no_solution

_SETTINGS: dict[str, Any] = {
    "verbose": False,
    "eps_abs": 1e-7,
    "eps_rel": 0.0,
    "max_iter": 40000,
    "polishing": True,
}


def solve_osqp(qp: SparseQP, warm: QPResult | None = None) -> QPResult:
    """Solve a sparse QP with osqp, from a cold start.

    Source: Stellato, Banjac, Goulart, Bemporad, Boyd 2020, "OSQP: an operator splitting solver for
        quadratic programs".
    """
    del warm
    try:
        import osqp
    except ImportError:
        return no_solution(qp, "failed", 0, "not installed: pip install osqp")

    n = len(qp.g)
    solver = osqp.OSQP()
    solver.setup(
        scipy.sparse.triu(scipy.sparse.csc_matrix(qp.H), format="csc"),
        qp.g,
        scipy.sparse.vstack((scipy.sparse.eye(n), scipy.sparse.csc_matrix(qp.A)), format="csc"),
        qp.lower,
        qp.upper,
        **_SETTINGS,
    )
    result = solver.solve(raise_error=False)
    info = result.info
    outcome = "solved" if info.status == "solved" else "failed"
    x, y = np.array(result.x, float), np.array(result.y, float)
    return QPResult(x, y, outcome, info.iter, "" if outcome == "solved" else info.status)  # type: ignore[arg-type]
