"""Example plugin: the QP solver clarabel for inverse control.

Install it with `pip install plugins/clarabel_qp`, or load it for one run, where clarabel is there:

    softctl run scene.py --plugin plugins/clarabel_qp/clarabel_qp.py

Then "clarabel" is a name for the option `solver` of InverseController and of `solve_inverse`.
"""

import numpy as np
import scipy.sparse

from sofa_softctl import hookimpl
from sofa_softctl.qp import QPResult, no_solution

SETTINGS = {
    "verbose": False,
    "tol_feas": 1e-12,
    "tol_gap_abs": 1e-12,
    "tol_gap_rel": 0.0,
    "tol_ktratio": 1e-9,
}
"""Solutions must have KKT residuals of at most 1e-8; the defaults leave up to 1e-4."""


def solve_clarabel(qp, warm=None):
    """Solve a QP as a cone program; a `sofa_softctl.qp.QPSolver`.

    Minimise 1/2 x^T H x + g^T x with rows x + s = limit: s is zero for equalities, which come
    first, and at least zero for upper limits and, with the opposite sign, lower ones.

    Source: Goulart and Chen 2024, "Clarabel: an interior-point solver for conic programs with
        quadratic objectives".
    """
    import clarabel

    del warm  # an interior-point method starts from the middle
    rows = np.concatenate((np.eye(len(qp.g)), qp.A))  # (n + m, n)
    equal = np.flatnonzero(qp.lower == qp.upper)
    above = np.flatnonzero((qp.lower != qp.upper) & (qp.upper < np.inf))
    below = np.flatnonzero((qp.lower != qp.upper) & (qp.lower > -np.inf))
    A = np.concatenate((rows[equal], rows[above], -rows[below]))
    b = np.concatenate((qp.upper[equal], qp.upper[above], -qp.lower[below]))
    settings = clarabel.DefaultSettings()
    for name, value in SETTINGS.items():
        setattr(settings, name, value)
    cones = [clarabel.ZeroConeT(len(equal)), clarabel.NonnegativeConeT(len(above) + len(below))]
    H = scipy.sparse.csc_matrix(np.triu(0.5 * (qp.H + qp.H.T)))
    solution = clarabel.DefaultSolver(
        H, np.array(qp.g), scipy.sparse.csc_matrix(A), b, cones, settings
    ).solve()
    status = str(solution.status)
    if status in ("PrimalInfeasible", "AlmostPrimalInfeasible"):
        return no_solution(
            qp, "infeasible", solution.iterations, "the limits contradict each other"
        )
    y = np.zeros_like(qp.lower)
    at_equal, at_above, at_below = np.split(
        np.array(solution.z), [len(equal), len(equal) + len(above)]
    )
    y[equal] = at_equal
    y[above] += at_above
    y[below] -= at_below
    is_solved = status == "Solved"
    message = "" if is_solved else f"it ended with {status}"
    outcome = "solved" if is_solved else "failed"
    return QPResult(np.array(solution.x), y, outcome, solution.iterations, message)


@hookimpl
def softctl_register_qp_solvers(register):
    """Register the solver "clarabel"."""
    register("clarabel", solve_clarabel)
