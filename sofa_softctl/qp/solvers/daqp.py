"""daqp: a dual active-set solver, the fastest one for small dense problems (3 to 10 us)."""

from __future__ import annotations

import daqp
import numpy as np

from sofa_softctl.qp.problem import QP, QPResult, no_solution

_SETTINGS = {
    # Largest violation of a limit. The default, 1e-6, would fail our check.
    "primal_tol": 1e-9,
    # A singular Hessian (more actuators than effector rows) is solved by proximal iterations, which
    # end when they move less than this. The default, 1e-6, leaves KKT residuals of 1e-6.
    "eta_prox": 1e-10,
    # These problems take about n iterations; the default, 10000, would be a missed time step.
    "iter_limit": 1000,
}

_EQUALITY_WIDTH = 1e-10
"""daqp keeps equalities in its working set from the start, and so fails on dependent ones (two
cables with one row): flag -6, -1, or a wrong answer. Intervals of this width are inequalities."""

_NO_LIMIT = 1e30
"""Value that daqp treats as infinite."""

_FLAGS = {
    -1: "the limits contradict each other",
    -2: "it cycled",
    -3: "the cost is unbounded below",
    -4: "the iteration limit was reached",
    -5: "the Hessian is not positive semi-definite",
    -6: "equalities depend on each other",
    -7: "the time limit was reached",
}


def solve_daqp(qp: QP, warm: QPResult | None = None) -> QPResult:
    """Solve a QP with daqp's native interface.

    The warm start is the earlier working set, given by the signs of the earlier multipliers. If it
    has more limits than variables, daqp calls NaN optimal: `solve_checked` then starts cold.

    Source: Arnstroem, Bemporad, Axehill 2022, "A dual active-set solver for embedded quadratic
        programming using recursive LDL^T updates".
    """
    lower, upper = np.array(qp.lower), np.array(qp.upper)  # daqp needs writable arrays
    equal = lower == upper
    if equal.any():
        lower[equal] -= 0.5 * _EQUALITY_WIDTH
        upper[equal] += 0.5 * _EQUALITY_WIDTH
    H, g, A = np.array(qp.H), np.array(qp.g), np.array(qp.A)
    start = None if warm is None else np.array(warm.y)
    x, _, flag, info = daqp.solve(H, g, A, upper, lower, dual_start=start, **_SETTINGS)
    if flag > 0:  # otherwise x is garbage
        return QPResult(x, info["lam"], "solved", info["iterations"])
    message = _FLAGS.get(flag, f"exit flag {flag}")
    return no_solution(qp, "infeasible" if flag == -1 else "failed", info["iterations"], message)


class FixedMatrixDaqp:
    """daqp for QPs that differ only in gradient and limits: it takes a third of the time.

    The factors of H and the transformed rows are kept. About one answer in a hundred is wrong (for
    tangent QPs of trajectories): verify each one.

    Args:
        H: Hessian of all problems, shape (n, n), positive definite.
        A: Constraint rows of all problems, shape (m, n).
    """

    def __init__(self, H: np.ndarray, A: np.ndarray) -> None:
        m, n = A.shape
        self._model = daqp.Model()
        self._model.settings = {**self._model.settings, **_SETTINGS}
        no_limit = np.full(n + m, _NO_LIMIT)
        self._model.setup(np.array(H), np.zeros(n), np.array(A), no_limit, -no_limit)

    def solve(self, qp: QP) -> QPResult:
        """Solve a QP with the same H and A."""
        lower = np.maximum(qp.lower, -_NO_LIMIT)
        upper = np.minimum(qp.upper, _NO_LIMIT)
        self._model.update(f=np.array(qp.g), bupper=upper, blower=lower)
        x, _, flag, info = self._model.solve()
        if flag > 0:
            return QPResult(np.array(x), np.array(info["lam"]), "solved", info["iterations"])
        message = _FLAGS.get(flag, f"exit flag {flag}")
        return no_solution(
            qp, "infeasible" if flag == -1 else "failed", info["iterations"], message
        )
