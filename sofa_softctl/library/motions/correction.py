"""SQP steps for a trajectory that fails its acceptance test.

The simulated trajectory is linearised: dx_k = S_k w, with w the change of inputs and constants. A
step solves

    min 1/2 w'H w + g'w   s.t.   T w = -r,   limits of inputs, and of states and `path` nearby

with r the simulated residual of the final conditions, g the slope of the cost and H the Hessian of
the Lagrangian at the nearest optimum. Without H, the smallest change of w is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.library.ocp.kernels.motions import linearise, rows_along
from sofa_softctl.library.ocp.model import Model, Simulation
from sofa_softctl.library.ocp.problem import Motion
from sofa_softctl.qp.problem import QP
from sofa_softctl.qp.verified import solve_checked


@dataclass(frozen=True)
class CorrectionSettings:
    """Numbers of the SQP steps that correct a trajectory."""

    step_count_max: int = 2
    """Maximum number of steps before a trajectory is refused."""
    active_distance_max: float = 0.3
    """Distance to a limit of states up to which it enters a step, over the range of the state
    [-]."""
    between_instants_factor: float = 1.2
    """Factor on the excess of limits between instants by which limits at instants are tightened
    [-]."""


SETTINGS = CorrectionSettings()
SOLVERS = ("daqp", "proxqp")


def correct_trajectory(
    model: Model,
    simulation: Simulation,
    p: np.ndarray,
    hessian: np.ndarray | None = None,
    *,
    free: bool = True,
) -> Motion | None:
    """Return the trajectory after one step, or None if the QP has no solution.

    Args:
        model: Model of the problem.
        simulation: Simulation of the trajectory.
        p: Parameters.
        hessian: Hessian of the Lagrangian at a nearby optimum, see `Entry`, for the intervals of
            the trajectory; by default the identity in scaled changes.
        free: Let the constants z change, and so the initial state.
    """
    motion, n_z = simulation.motion, len(model.design)
    N, m, n = len(motion.u), len(model.inputs), len(model.states)
    S = np.zeros((N + 1, n, N * m + n_z))
    initial = model.tapes["initial"]
    if free and n_z:
        S[0, :, N * m :] = initial.slopes(np.concatenate((motion.z, p)), 0, n_z)
    inputs = (motion.u, motion.z, np.ascontiguousarray(p, float))
    interval, steps = model.horizon / model.intervals, model.steps  # fewer may be unstable
    ends = np.empty_like(motion.x)
    linearise(model.fast_code("dynamics"), motion.x, *inputs, interval, steps, S, ends)
    scale, low, high = _bounds(model, motion, free)
    end = np.concatenate((motion.x[-1], motion.z, p))
    T = model.tapes["terminal"].slopes(end, 0, n + n_z)
    A_t = T[:, :n] @ S[-1]
    A_t[:, N * m :] += T[:, n:]
    weight = 1.0 / np.array(model.terminal_tolerances)
    A_t *= weight[:, None] * scale
    residual = simulation.terminal * weight
    A_s, low_s, high_s = _states(model, simulation, S, scale)
    A_p, low_p = _path(model, simulation, inputs, S, scale)
    A, rows_upper = (
        np.concatenate((A_s, A_p)),
        np.concatenate((high_s, np.full(len(low_p), np.inf))),
    )
    rows_lower = np.concatenate((low_s, low_p))
    H, g = np.eye(len(scale)), np.zeros(len(scale))
    if hessian is not None:
        H, g = hessian * scale * scale[:, None], scale * _slope(model, simulation, inputs, S, end)
    qp = QP(
        H=H,
        g=g,
        A=np.concatenate((A_t, A)),
        lower=np.concatenate((low, -residual, rows_lower)),
        upper=np.concatenate((high, -residual, rows_upper)),
    )
    solution = solve_checked(qp, solvers=SOLVERS, tolerance=1e-6)
    if solution.result is None:
        return None
    change = solution.result.x
    u = motion.u + (scale * change)[: N * m].reshape(N, m)
    z = motion.z + (scale * change)[N * m :]
    # QP solvers keep limits to their tolerance only.
    return Motion(np.clip(u, *model.input_limits), motion.x, np.clip(z, *model.design_limits))


def _slope(
    model: Model,
    simulation: Simulation,
    inputs: tuple[np.ndarray, np.ndarray, np.ndarray],
    S: np.ndarray,
    end: np.ndarray,
) -> np.ndarray:
    """Return the derivative of the cost by inputs and constants, which determine the states."""
    final = model.tapes["final_cost"]
    N, m, n, n_z = len(inputs[0]), len(model.inputs), len(model.states), len(model.design)
    values, slopes = np.zeros((N, 1)), np.zeros((N, 1, n + m + n_z))
    rows_along(model.fast_code("cost"), simulation.motion.x, *inputs, values, slopes)
    rate = slopes[:, 0] / N
    slope = np.einsum("ka,kac->c", rate[:, :n], S[:-1])
    slope[: N * m] += rate[:, n : n + m].ravel()
    slope[N * m :] += rate[:, n + m :].sum(axis=0)
    if final.code.outputs:
        last = final.slopes(end, 0, n + n_z)[0]
        slope += last[:n] @ S[-1]
        slope[N * m :] += last[n:]
    return slope


def input_scale(model: Model, motion: Motion) -> np.ndarray:
    """Return the range of each input and constant, or its size, shape (N n_u + n_z,)."""
    magnitude = np.concatenate(
        (_repeat_row(np.abs(motion.u).max(axis=0), motion.u), np.abs(motion.z))
    )
    lower, upper = _input_limits(model, motion)
    width = upper - lower
    return np.where(width < np.inf, width, magnitude + 1e-3)


def _input_limits(model: Model, motion: Motion) -> list[np.ndarray]:
    """Return the lower and upper limits of inputs and constants."""
    return [
        np.concatenate((_repeat_row(inputs, motion.u), design))
        for inputs, design in zip(model.input_limits, model.design_limits, strict=True)
    ]


def _bounds(model: Model, motion: Motion, free: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the scales of the unknown changes, and the scaled limits of these changes."""
    current = np.concatenate((motion.u.ravel(), motion.z))
    lower, upper = _input_limits(model, motion)
    scale = input_scale(model, motion)
    low, high = (
        np.minimum((lower - current) / scale, 0.0),
        np.maximum((upper - current) / scale, 0.0),
    )
    if not free:
        low[motion.u.size :] = high[motion.u.size :] = 0.0
    return scale, low, high


def _repeat_row(row: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return a row repeated for each row of `like`, as one vector."""
    return np.broadcast_to(row, like.shape).ravel()


def _states(
    model: Model, simulation: Simulation, S: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the constraint rows of nearby limits of states, over the ranges of the states.

    Limits at instants are tightened by the excess of the trajectory between the instants.
    """
    x = simulation.motion.x
    lower, upper = (limits[model.x_at[1 - len(x) :]] for limits in (model.lower, model.upper))
    lowest, highest = model.state_limits
    width = upper - lower
    width = np.where(np.abs(width) < np.inf, width, np.abs(x).max(axis=0) + 1e-9)
    lower = np.maximum(
        lower, lowest + SETTINGS.between_instants_factor * (x.min(axis=0) - simulation.extremes[0])
    )
    upper = np.minimum(
        upper, highest - SETTINGS.between_instants_factor * (simulation.extremes[1] - x.max(axis=0))
    )
    below, above = x[1:] - lower, upper - x[1:]
    k, i = np.nonzero(np.minimum(below, above) < SETTINGS.active_distance_max * width)
    width = width[k, i]
    rows = S[1:][k, i] * scale / width[:, None]
    return rows, -below[k, i] / width, above[k, i] / width


def _path(
    model: Model,
    simulation: Simulation,
    inputs: tuple[np.ndarray, np.ndarray, np.ndarray],
    S: np.ndarray,
    scale: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the constraint rows of nearby inequalities `path`, as `_states` does."""
    motion, path = simulation.motion, model.fast_code("path")
    if not path.outputs:
        return np.empty((0, len(scale))), np.empty(0)
    N, m, n, count = len(motion.u), len(model.inputs), len(model.states), path.outputs
    values, slopes = np.zeros((N, count)), np.zeros((N, count, n + m + len(model.design)))
    rows_along(path, motion.x, *inputs, values, slopes)
    width = np.array(model.path_scale)
    margins = np.maximum(
        model.path_margins,
        SETTINGS.between_instants_factor * (values.min(axis=0) - simulation.path),
    )
    k, i = np.nonzero(values < SETTINGS.active_distance_max * width)
    slope = slopes[k, i]
    rows = np.einsum("ab,abc->ac", slope[:, :n], S[k])
    for j in range(m):
        rows[np.arange(len(k)), k * m + j] += slope[:, n + j]
    rows[:, N * m :] += slope[:, n + m :]
    return rows * scale / width[i, None], (margins - values)[k, i] / width[i]
