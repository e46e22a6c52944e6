"""Lower bound of the optimal cost of a linear problem, by duality.

Where dynamics and conditions are linear in states, inputs and constants, and the cost is quadratic,
the program is a QP in the change d of inputs and constants,

    min 1/2 d'H d + g'd   s.t.   lower <= [d; A d] <= upper

If H is positive definite, any multipliers y give a lower bound of its value:

    -1/2 r'H^-1 r - sum(max(y, 0) upper + min(y, 0) lower)     with r = g + [I; A]'y

A QP solver gives y that make it large; the bound holds however well it has solved. Rows of
`terminal` and `path` that are not linear are left out, which lowers the bound. The states are those
of the plan, with its margins, and final conditions hold exactly: the bound is one of the optimum
that `Program.solve` finds.

Source: Boyd and Vandenberghe, "Convex Optimization", section 5.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.base.versions import one_blas_thread
from sofa_softctl.library.motions.correction import SOLVERS, input_scale
from sofa_softctl.library.ocp.kernels.motions import linearise
from sofa_softctl.library.ocp.model import Model
from sofa_softctl.library.ocp.problem import Motion
from sofa_softctl.library.ocp.tape import Tape
from sofa_softctl.qp.problem import QP
from sofa_softctl.qp.verified import solve_checked

NOT_LINEAR = (
    "dynamics are not linear or the cost is not quadratic, so other motions may cost less than all "
    "known"
)
NOT_CONVEX = "the cost is not strictly convex in the inputs"
NO_MOTION = "no plan obeys all limits, with their margins, and meets the final conditions exactly"


@dataclass(frozen=True)
class CostBound:
    """Least cost that the optimum for the parameters may have."""

    lower: float
    """Lower bound of the optimal cost [cost], or NaN if none is known."""
    reason: str = ""
    """Reason for an unknown bound, or ""."""


def bound_cost(model: Model, motion: Motion, p: np.ndarray) -> CostBound:
    """Return a lower bound of the optimal cost at parameters p.

    Args:
        model: Model of the problem.
        motion: Any motion; only the size of its inputs and constants matters.
        p: Parameters, shape (n_p,).
    """
    if not model.is_linear_quadratic:
        return CostBound(np.nan, NOT_LINEAR)
    with one_blas_thread():
        cost, qp = _program(model, motion, np.ascontiguousarray(p, float))
        try:
            factor = np.linalg.cholesky(qp.H)
        except np.linalg.LinAlgError:
            return CostBound(np.nan, NOT_CONVEX)
        unit = float(np.trace(qp.H)) / len(qp.g)  # QP solvers expect numbers near 1
        scaled = QP(qp.H / unit, qp.g / unit, qp.A, qp.lower, qp.upper)
        solution = solve_checked(scaled, solvers=SOLVERS, tolerance=1e-6)
        if solution.result is None:
            return CostBound(np.nan, NO_MOTION)
        return CostBound(cost + _dual_value(qp, factor, unit * solution.result.y))


def _dual_value(qp: QP, factor: np.ndarray, y: np.ndarray) -> float:
    """Return a lower bound of the value of a QP, with the Cholesky factor of its H."""
    limits = np.where(y > 0.0, qp.upper, qp.lower)
    y = np.where(np.isfinite(limits), y, 0.0)
    n = len(qp.g)
    rest = np.linalg.solve(factor, qp.g + y[:n] + y[n:] @ qp.A)
    return float(-0.5 * rest @ rest - y @ np.where(y == 0.0, 0.0, limits))


def _program(model: Model, motion: Motion, p: np.ndarray) -> tuple[float, QP]:
    """Return the cost of a motion's inputs in the plan, and the QP of their scaled change."""
    scale = input_scale(model, motion)
    v, V = _plan(model, motion, p, scale)
    starts = [np.concatenate((*at, model.z_at)) for at in zip(model.x_at, model.u_at, strict=False)]
    end = np.concatenate((model.x_at[-1], model.z_at))
    f, H, g = 0.0, np.zeros((len(scale), len(scale))), np.zeros(len(scale))
    for name, places in (("cost", starts), ("final_cost", [end])):
        tape = model.tapes[name]
        if not tape.code.outputs:
            continue
        curvature = _curvature(tape, v[places[0]], p) / len(places)
        for at in places:
            value, slope = _value_and_slope(tape, v[at], p)
            f += float(value[0]) / len(places)
            g += slope[0] / len(places) @ V[at]
            H += V[at].T @ curvature @ V[at]
    is_linear = model.degree("terminal") <= 1
    residual, slope = _value_and_slope(model.tapes["terminal"], v[end], p)
    residual, slope = residual[is_linear], slope[is_linear]
    x_at = model.x_at.ravel()
    x_at = x_at[np.isfinite(model.lower[x_at]) | np.isfinite(model.upper[x_at])]
    w_at = np.concatenate((model.u_at.ravel(), model.z_at))
    low, high = model.lower - v, model.upper - v
    rows, lower, upper = [slope @ V[end], V[x_at]], [-residual, low[x_at]], [-residual, high[x_at]]
    is_linear = model.degree("path") <= 1
    for at in starts:
        values, slope = _value_and_slope(model.tapes["path"], v[at], p)
        rows.append(slope[is_linear] @ V[at])
        lower.append((model.path_margins - values)[is_linear])
        upper.append(np.full(len(lower[-1]), np.inf))
    A = np.concatenate(rows)
    size = np.linalg.norm(A, axis=1)
    size = np.where(size > 0.0, size, 1.0)
    return f, QP(
        H=H,
        g=g,
        A=A / size[:, None],
        lower=np.concatenate((low[w_at] / scale, np.concatenate(lower) / size)),
        upper=np.concatenate((high[w_at] / scale, np.concatenate(upper) / size)),
    )


def _plan(
    model: Model, motion: Motion, p: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return all unknowns of the plan with a motion's inputs, and their derivative by these."""
    u, z = np.ascontiguousarray(motion.u, float), np.ascontiguousarray(motion.z, float)
    N, n, initial = len(u), len(model.states), model.tapes["initial"]
    x, S = np.empty((N + 1, n)), np.zeros((N + 1, n, len(scale)))
    x[0] = initial(z, p)
    S[0, :, u.size :] = initial.slopes(np.concatenate((z, p)), 0, len(z))
    linearise(model.fast_code("dynamics"), x, u, z, p, model.horizon / N, model.steps, S, x)
    V = np.zeros((model.size, len(scale)))
    V[np.concatenate((model.u_at.ravel(), model.z_at))] = np.diag(scale)
    V[model.x_at] = S * scale
    return model.unknowns(Motion(u, x, z)), V


def _value_and_slope(tape: Tape, at: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the results of a tape of (at, p), and their derivatives by `at`."""
    return tape(at, p), tape.slopes(np.concatenate((at, p)), 0, len(at))


def _curvature(tape: Tape, at: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the second derivative of a quadratic formula: its slope is linear."""
    slope = _value_and_slope(tape, at, p)[1][0]
    steps = np.eye(len(at)) * (1.0 + np.abs(at).max(initial=0.0))
    rows = [(_value_and_slope(tape, at + h, p)[1][0] - slope) / h.max() for h in steps]
    return np.array(rows)
