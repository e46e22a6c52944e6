"""proxqp: a proximal augmented-Lagrangian solver; slower than daqp; it fails on other problems."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.qp.problem import QP, QPResult, no_solution

_SETTINGS: dict[str, Any] = {
    "eps_abs": 1e-10,
    "eps_rel": 0.0,
    # Without the gap, "solved" does not imply complementarity: one answer in ten had a multiplier
    # of up to 1e-2 on a limit that was not reached.
    "check_duality_gap": True,
    "eps_duality_gap_abs": 1e-10,
    "eps_duality_gap_rel": 0.0,
    # The default, 1e-4, declares feasible problems infeasible.
    "eps_primal_inf": 1e-10,
    "eps_dual_inf": 1e-10,
    # Contradicting limits end at this limit, after 2 ms; at the default of 10000 after seconds.
    "max_iter": 200,
    "max_iter_in": 100,
}


def solve_proxqp(qp: QP, warm: QPResult | None = None) -> QPResult:
    """Solve a QP with the dense interface of proxsuite.

    Source: Bambade, El-Kazdadi, Taylor, Carpentier 2022, "PROX-QP: yet another quadratic
        programming solver for robotics and beyond".
    """
    from proxsuite import proxqp  # 60 ms, and only the fallback

    n = len(qp.g)
    rows = np.concatenate((np.eye(n), qp.A))
    dense = proxqp.dense
    backend = dense.DenseBackend.PrimalDualLDLT
    solver = dense.QP(n, 0, len(rows), False, dense.HessianType.Dense, backend)
    for name, value in _SETTINGS.items():
        setattr(solver.settings, name, value)
    if warm is not None:
        solver.settings.initial_guess = proxqp.InitialGuess.WARM_START
    solver.init(qp.H, qp.g, None, None, rows, qp.lower, qp.upper)
    if warm is None:
        solver.solve()
    else:
        solver.solve(warm.x, None, warm.y)
    info = solver.results.info
    status = info.status.name
    if status == "PROXQP_PRIMAL_INFEASIBLE":
        return no_solution(qp, "infeasible", info.iter, "the limits contradict each other")
    x, y = np.array(solver.results.x), np.array(solver.results.z)
    if status == "PROXQP_SOLVED":
        return QPResult(x, y, "solved", info.iter)
    return QPResult(x, y, "failed", info.iter, f"it ended with {status}")
