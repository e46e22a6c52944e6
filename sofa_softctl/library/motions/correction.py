"""Correction of a motion that fails its acceptance test: steps of sequential quadratic programming.

The simulated motion is linearised, and the change of inputs and constants of least cost is taken
that meets all final conditions and limits to first order. Second derivatives are those of the
nearest optimum. Without them, the least change is taken.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.library.ocp.kernels.motions import linearise, rows_along
from sofa_softctl.library.ocp.model import Model, Simulation
from sofa_softctl.library.ocp.problem import Motion
from sofa_softctl.qp.problem import QP
from sofa_softctl.qp.verified import solve_checked

STEPS = 2
"""Number of steps before a motion is refused."""
NEAR = 0.3
"""Limits of states count in a step where a state is nearer to them than this share of its range."""
MORE = 1.2
"""Distance of limits at instants from true ones, over what motions exceed in between [-]."""
SOLVERS = ("daqp", "proxqp")


def corrected(
    model: Model,
    found: Simulation,
    p: np.ndarray,
    hessian: np.ndarray | None = None,
    *,
    free: bool = True,
) -> Motion | None:
    """The motion after one step; None: no small change meets all conditions to first order.

    Args:
        model: Model of the problem.
        found: The simulated motion.
        p: Parameters.
        hessian: That of the Lagrangian of a nearby optimum, see `Entry`; of the last intervals for
            a motion of these. None: a change costs its square.
        free: Whether it may begin otherwise: constants z may change.
    """
    motion, n_z = found.motion, len(model.design)
    N, m, n = len(motion.u), len(model.inputs), len(model.states)
    S = np.zeros((N + 1, n, N * m + n_z))
    initial = model.tapes["initial"]
    if free and n_z:
        S[0, :, N * m :] = initial.slopes(np.concatenate((motion.z, p)), 0, n_z)
    given = (motion.u, motion.z, np.ascontiguousarray(p, float))
    interval, steps = model.horizon / model.intervals, model.steps  # fewer may be unstable
    linearise(model.fast("dynamics"), motion.x, *given, interval, steps, S)
    scale, low, high = _bounds(model, motion, free)
    ends = np.concatenate((motion.x[-1], motion.z, p))
    T = model.tapes["terminal"].slopes(ends, 0, n + n_z)
    A_t = T[:, :n] @ S[-1]
    A_t[:, N * m :] += T[:, n:]
    weight = 1.0 / np.array(model.terminal_tolerances)
    A_t *= weight[:, None] * scale
    residual = found.terminal * weight
    A_s, low_s, high_s = _states(model, found, S, scale)
    A_p, low_p = _path(model, found, given, S, scale)
    A, above = np.concatenate((A_s, A_p)), np.concatenate((high_s, np.full(len(low_p), np.inf)))
    below = np.concatenate((low_s, low_p))
    H, g = np.eye(len(scale)), np.zeros(len(scale))
    if hessian is not None:
        H, g = hessian * scale * scale[:, None], scale * _slope(model, found, given, S, ends)
    qp = QP(
        H=H,
        g=g,
        A=np.concatenate((A_t, A)),
        lower=np.concatenate((low, -residual, below)),
        upper=np.concatenate((high, -residual, above)),
    )
    answer = solve_checked(qp, solvers=SOLVERS, tolerance=1e-6)
    if answer.result is None:
        return None
    change = answer.result.x
    u = motion.u + (scale * change)[: N * m].reshape(N, m)
    z = motion.z + (scale * change)[N * m :]
    # QP solvers keep limits to their tolerance only.
    return Motion(np.clip(u, *model.input_limits), motion.x, np.clip(z, *model.design_limits))


def _slope(
    model: Model,
    found: Simulation,
    given: tuple[np.ndarray, np.ndarray, np.ndarray],
    S: np.ndarray,
    ends: np.ndarray,
) -> np.ndarray:
    """Derivative of the cost by inputs and constants, states following."""
    final = model.tapes["final_cost"]
    N, m, n, n_z = len(given[0]), len(model.inputs), len(model.states), len(model.design)
    values, slopes = np.zeros((N, 1)), np.zeros((N, 1, n + m + n_z))
    rows_along(model.fast("cost"), found.motion.x, *given, values, slopes)
    rate = slopes[:, 0] / N
    slope = np.einsum("ka,kac->c", rate[:, :n], S[:-1])
    slope[: N * m] += rate[:, n : n + m].ravel()
    slope[N * m :] += rate[:, n + m :].sum(axis=0)
    if final.code.outputs:
        last = final.slopes(ends, 0, n + n_z)[0]
        slope += last[:n] @ S[-1]
        slope[N * m :] += last[n:]
    return slope


def _bounds(model: Model, motion: Motion, free: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scales of the unknown changes, and their limits over these."""
    now = np.concatenate((motion.u.ravel(), motion.z))
    largest = np.concatenate((_repeated(np.abs(motion.u).max(axis=0), motion.u), np.abs(motion.z)))
    lower, upper = (
        np.concatenate((_repeated(inputs, motion.u), design))
        for inputs, design in zip(model.input_limits, model.design_limits, strict=True)
    )
    width = upper - lower
    scale = np.where(width < np.inf, width, largest + 1e-3)
    low, high = np.minimum((lower - now) / scale, 0.0), np.maximum((upper - now) / scale, 0.0)
    if not free:
        low[motion.u.size :] = high[motion.u.size :] = 0.0
    return scale, low, high


def _repeated(row: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """A row for each of some rows, in one."""
    return np.broadcast_to(row, rows.shape).ravel()


def _states(
    model: Model, found: Simulation, S: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of the limits of states that are near, over their ranges.

    A limit at the instants is within the true one by what the motion goes beyond them in between.
    """
    x = found.motion.x
    lower, upper = (limits[model.x_at[1 - len(x) :]] for limits in (model.lower, model.upper))
    lowest, highest = model.state_limits
    width = upper - lower
    width = np.where(np.abs(width) < np.inf, width, np.abs(x).max(axis=0) + 1e-9)
    lower = np.maximum(lower, lowest + MORE * (x.min(axis=0) - found.extremes[0]))
    upper = np.minimum(upper, highest - MORE * (found.extremes[1] - x.max(axis=0)))
    below, above = x[1:] - lower, upper - x[1:]
    k, i = np.nonzero(np.minimum(below, above) < NEAR * width)
    width = width[k, i]
    rows = S[1:][k, i] * scale / width[:, None]
    return rows, -below[k, i] / width, above[k, i] / width


def _path(
    model: Model,
    found: Simulation,
    given: tuple[np.ndarray, np.ndarray, np.ndarray],
    S: np.ndarray,
    scale: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the inequalities `path` that are near, over their ranges; see `_states`."""
    motion, path = found.motion, model.fast("path")
    if not path.outputs:
        return np.empty((0, len(scale))), np.empty(0)
    N, m, n, count = len(motion.u), len(model.inputs), len(model.states), path.outputs
    values, slopes = np.zeros((N, count)), np.zeros((N, count, n + m + len(model.design)))
    rows_along(path, motion.x, *given, values, slopes)
    width = np.array(model.path_scale)
    margins = np.maximum(model.path_margins, MORE * (values.min(axis=0) - found.path))
    k, i = np.nonzero(values < NEAR * width)
    slope = slopes[k, i]
    rows = np.einsum("ab,abc->ac", slope[:, :n], S[k])
    for j in range(m):
        rows[np.arange(len(k)), k * m + j] += slope[:, n + j]
    rows[:, N * m :] += slope[:, n + m :]
    return rows * scale / width[i, None], (margins - values)[k, i] / width[i]
