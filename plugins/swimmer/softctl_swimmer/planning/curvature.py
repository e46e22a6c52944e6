"""Curvature of the balance of a motion."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from sofa_softctl.surrogate.costs.dynamics import Steps
from sofa_softctl.surrogate.grid.embedding import Jet
from sofa_softctl.surrogate.program.transcription import PlanningProblem, TrajectoryIterate

DIFFERENCE = 1e-6
"""Step of finite differences of slopes, in coordinates [-]."""
NEIGHBOUR_COUNT = 2
"""Number of instants before and after one on which its slope depends: steps have three."""


def balance_curvature(
    problem: PlanningProblem, trial: TrajectoryIterate, multipliers: np.ndarray
) -> scipy.sparse.csc_array:
    """Return the Hessian of multipliers . lack at a trial, (n, n), by differences of its slope.

    Coordinates five instants apart are changed together, as no slope depends on two of them: 5 d
    linearisations of the motion. Inputs enter a balance linearly.

    Args:
        problem: The problem.
        trial: The motion.
        multipliers: Multiplier of each component of the steps' lack [cost], shape (d (K - 1),).

    Source: Curtis, Powell, Reid 1974, on the estimation of sparse Jacobian matrices.
    """
    K, d = problem.instants, problem.d
    weights = multipliers.reshape(K - 1, d) / problem.dynamics.unit
    period, at = 2 * NEIGHBOUR_COUNT + 1, np.arange(K - 1)
    is_inside = trial.a[1:] + DIFFERENCE <= problem.state_bounds[1]
    delta = np.where(is_inside, DIFFERENCE, -DIFFERENCE)  # (K - 1, d)
    (slopes,) = _slopes(problem, trial.a[None], trial.u, weights)
    all_columns = np.concatenate(problem.columns, axis=1)  # (K - 1, m + d)
    rows, cols, values = [], [], []
    for color in range(period):
        a = np.tile(trial.a, (d, 1, 1))
        a[:, 1 + color :: period] += delta[color::period] * np.eye(d)[:, None]
        change = _slopes(problem, a, trial.u, weights) - slopes  # (d, K - 1, m + d)
        changed_instant = (
            at + (color - at + NEIGHBOUR_COUNT) % period - NEIGHBOUR_COUNT
        )  # the instant that each one feels
        is_changed = np.flatnonzero((changed_instant >= 0) & (changed_instant < K - 1))
        block = change[:, is_changed] / delta[changed_instant[is_changed]].T[:, :, None]
        rows.append(np.broadcast_to(all_columns[is_changed], block.shape).ravel())
        by = problem.columns[1][changed_instant[is_changed]].T  # (d, number)
        cols.append(np.broadcast_to(by[:, :, None], block.shape).ravel())
        values.append(block.ravel())
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(cols)))
    by_a = scipy.sparse.csc_array(
        scipy.sparse.coo_array(entries, shape=(all_columns.size, all_columns.size))
    )
    of_a = np.zeros(all_columns.size)
    of_a[problem.columns[1].ravel()] = 1.0
    halving = scipy.sparse.diags_array(1.0 - 0.5 * of_a)  # both triangles of what is by a twice
    return scipy.sparse.csc_array(halving @ by_a + (halving @ by_a).T)


def _slopes(
    problem: PlanningProblem, a: np.ndarray, u: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return gradients of weights . residuals by u_k and a_k+1 of motions (M, K, d)."""
    dynamics, (M, K, d) = problem.dynamics, a.shape
    before = a[:, :1] if problem.a_before is None else np.tile(problem.a_before, (M, 1, 1))
    jet = dynamics.embedding.at(np.concatenate((before, a), axis=1).reshape(-1, d))
    start = (np.arange(M)[:, None] * (K + 1) + np.arange(K - 1)).ravel()  # a_k-1 of each step

    def later(count: int) -> Jet:
        return Jet(jet.value[start + count], jet.gradient[start + count])

    a_now, a_next = (part.reshape(-1, d) for part in (a[:, :-1], a[:, 1:]))
    steps = Steps(a_next, a_now, np.tile(u, (M, 1)), later(2), later(1), later(0))
    at = dynamics.linearise(steps)

    def weigh(slopes: np.ndarray) -> np.ndarray:
        blocks = slopes.reshape(M, K - 1, *slopes.shape[1:])
        gradients: np.ndarray = np.einsum("kr,Mkrc->Mkc", weights, blocks)
        return gradients

    by_a = weigh(at.by_next)
    by_a[:, :-1] += weigh(at.by_now)[:, 1:]
    by_a[:, :-2] += weigh(at.by_before)[:, 2:]
    return np.concatenate((weigh(at.by_input), by_a), axis=2)
