"""Gradients and Hessians of a planning problem at a trajectory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from sofa_softctl.surrogate.costs.dynamics import Steps
from sofa_softctl.surrogate.program.transcription import PlanningProblem, TrajectoryIterate


@dataclass(frozen=True, eq=False)
class Model:
    """Convex model of a problem about a trial. Variables: changes of u_1, a_2, u_2, a_3, ..."""

    gradient: np.ndarray
    """Gradient of the smooth costs [cost], shape (n,) with n = (m + d) (K - 1)."""
    hessians: tuple[scipy.sparse.csc_array, scipy.sparse.csc_array]
    """Hessians of the smooth costs [cost], shape (n, n): Gauss-Newton; and with the curvature of
    the map, made positive semi-definite. The first is better near reached goals, the second far
    from them; the optimiser uses the one with the better prediction."""
    exact: scipy.sparse.csc_array
    """Second Hessian without the convexification."""
    balance: scipy.sparse.csc_array
    """Jacobian of `Trial.lack` [-], shape (m, n), banded."""
    depth: np.ndarray
    """Depth of points inside margins, negative outside [length], shape (h,)."""
    depth_slope: scipy.sparse.csr_array
    """Jacobian of `depth` [length], shape (h, n)."""
    depth_weight: np.ndarray
    """Cost of depth [cost / length], shape (h,)."""

    def decrease(
        self, trial: TrajectoryIterate, x: np.ndarray, scale: float, penalty: float
    ) -> np.ndarray:
        """Predict the decrease of the merit for a change x, shape (n,), by each Hessian, (2,)."""
        bend = np.array([0.5 * x @ (hessian @ x) for hessian in self.hessians])
        smooth = self.gradient @ x + bend
        hinge = np.maximum(self.depth + self.depth_slope @ x, 0.0) - np.maximum(self.depth, 0.0)
        lack = np.abs(trial.lack + self.balance @ x).sum() - np.abs(trial.lack).sum()
        return -(scale * (smooth + self.depth_weight @ hinge) + penalty * lack)


def approximate(problem: PlanningProblem, trial: TrajectoryIterate) -> Model:
    """Return gradients at a trial, with Gauss-Newton and full Hessians of the costs."""
    K, d, m = problem.instants, problem.d, problem.m
    u_at, a_at = problem.columns
    n = u_at.size + a_at.size
    y, y_a = trial.y, trial.jet.gradient[2:]  # at a_1 … a_K, at a_2 … a_K
    gradient, blocks = np.zeros((K - 1, d)), np.zeros((K - 1, d, d))
    output_slope = np.zeros_like(y[1:])  # slope by the outputs, (K - 1, n_outputs)
    for cost in problem.outputs:
        rows = list(cost.rows)
        slope = y_a[:, rows]  # (K - 1, m, d)
        by_y = cost.gradient(y[:, rows])[1:]
        output_slope[:, rows] += by_y
        gradient += np.matmul(by_y[:, None], slope)[:, 0]
        blocks += slope.transpose(0, 2, 1) @ cost.hessian(y[:, rows])[1:] @ slope
    curved = blocks + problem.dynamics.embedding.curvature(trial.a[1:], output_slope)
    value, vector = np.linalg.eigh(curved)
    convex = (vector * np.maximum(value, 0.0)[:, None, :]) @ vector.transpose(0, 2, 1)
    curvature = scatter(convex - blocks, a_at, a_at, (n, n))
    hessian = scatter(blocks, a_at, a_at, (n, n))
    by_u = np.zeros((K - 1, m))
    for term in problem.inputs:
        by_u += term.gradient(trial.u)
        between = scipy.sparse.coo_array(term.hessian(K - 1))
        blocks_u = np.eye(m) * between.data[:, None, None]  # (nnz, d, d)
        hessian += scatter(blocks_u, u_at[between.row], u_at[between.col], (n, n))
    depths, slopes, weights = [np.zeros(0)], [scipy.sparse.csr_array((0, n))], [np.zeros(0)]
    for obstacle in problem.obstacles:
        rows = list(obstacle.rows)
        depth, by_y = obstacle.violation(y[1:, rows])
        depths.append(depth)
        slopes.append(_by_a(by_y, y_a[:, rows], a_at, n))
        if obstacle.between:
            depth, by_start, by_end = obstacle.violation_between(y[:, rows])
            depths.append(depth)
            before = _by_a(by_start[1:], y_a[:-1, rows], a_at[:-1], n, first=1)
            slopes.append(before + _by_a(by_end, y_a[:, rows], a_at, n))
        weights.append(np.full(len(obstacle.depth(y[:, rows])), obstacle.weight))
    return Model(
        gradient=np.concatenate((by_u, gradient), axis=1).ravel(),
        hessians=(scipy.sparse.csc_array(hessian), scipy.sparse.csc_array(hessian + curvature)),
        exact=scipy.sparse.csc_array(hessian + scatter(curved - blocks, a_at, a_at, (n, n))),
        balance=balance_slope(problem, trial),
        depth=np.concatenate(depths),
        depth_slope=scipy.sparse.csr_array(scipy.sparse.vstack(slopes)),
        depth_weight=np.concatenate(weights),
    )


def _by_a(by_y: np.ndarray, y_a: np.ndarray, at: np.ndarray, n: int, first: int = 0) -> Any:
    """Convert slopes (k, m) by outputs to rows from `first` on of a matrix (first + k, n)."""
    rows = first + np.arange(len(by_y))[:, None]
    return scatter(np.matmul(by_y[:, None], y_a), rows, at, (first + len(by_y), n))


def balance_slope(problem: PlanningProblem, trial: TrajectoryIterate) -> scipy.sparse.csc_array:
    """Return the Jacobian of `Trial.lack`, shape (m, n)."""
    dynamics, K, d = problem.dynamics, problem.instants, problem.d
    u_at, a_at = problem.columns
    jet, n = trial.jet, u_at.size + a_at.size
    at = dynamics.linearise(Steps(trial.a[1:], trial.a[:-1], trial.u, jet[2:], jet[1:-1], jet[:-2]))
    rows = np.arange(d * (K - 1)).reshape(K - 1, d)
    shape = (rows.size, n)
    slope = (
        scatter(at.by_input, rows, u_at, shape)
        + scatter(at.by_next, rows, a_at, shape)
        + scatter(at.by_now[1:], rows[1:], a_at[:-1], shape)
        + scatter(at.by_before[2:], rows[2:], a_at[:-2], shape)
    ) / dynamics.unit
    if problem.rest:
        ends = scatter(np.array([np.eye(d), -np.eye(d)]), rows[[0, 0]], a_at[[-1, -2]], (d, n))
        slope = scipy.sparse.vstack((slope, ends))
    return scipy.sparse.csc_array(slope)


def scatter(blocks: np.ndarray, rows: np.ndarray, cols: np.ndarray, shape: tuple[int, int]) -> Any:
    """Return a sparse matrix of blocks (k, p, q) at their rows (k, p) and columns (k, q)."""
    i = np.broadcast_to(rows[:, :, None], blocks.shape).ravel()
    j = np.broadcast_to(cols[:, None, :], blocks.shape).ravel()
    return scipy.sparse.coo_array((blocks.ravel(), (i, j)), shape=shape).tocsr()
