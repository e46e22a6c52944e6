"""Curvature of the balance of a motion."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from sofa_softctl.surrogate.costs.dynamics import Steps
from sofa_softctl.surrogate.grid.embedding import Jet
from sofa_softctl.surrogate.program.transcription import PlanningProblem, Trial

DIFFERENCE = 1e-6
"""Change of a coordinate in differences of slopes [-]."""
REACH = 2
"""Instants before and after one whose coordinates its slope depends on: steps have three."""


def balance_curvature(
    problem: PlanningProblem, trial: Trial, multipliers: np.ndarray
) -> scipy.sparse.csc_array:
    """Hessian of multipliers . lack at a trial, shape (n, n), by differences of its slope.

    Coordinates five instants apart are changed together, as no slope depends on two of them: 5 d
    linearisations of the motion. Inputs enter a balance linearly.

    Args:
        problem: The problem.
        trial: The motion.
        multipliers: Of each component of the steps' lack [cost], shape (d (K - 1),).

    Source: Curtis, Powell, Reid 1974, on the estimation of sparse Jacobian matrices.
    """
    K, d = problem.instants, problem.d
    weights = multipliers.reshape(K - 1, d) / problem.dynamics.unit
    period, at = 2 * REACH + 1, np.arange(K - 1)
    inside = trial.a[1:] + DIFFERENCE <= problem.state_bounds[1]
    delta = np.where(inside, DIFFERENCE, -DIFFERENCE)  # (K - 1, d)
    (here,) = _slopes(problem, trial.a[None], trial.u, weights)
    whole = np.concatenate(problem.columns, axis=1)  # (K - 1, m + d)
    rows, cols, values = [], [], []
    for color in range(period):
        a = np.tile(trial.a, (d, 1, 1))
        a[:, 1 + color :: period] += delta[color::period] * np.eye(d)[:, None]
        change = _slopes(problem, a, trial.u, weights) - here  # (d, K - 1, m + d)
        changed = at + (color - at + REACH) % period - REACH  # the instant that each one feels
        felt = np.flatnonzero((changed >= 0) & (changed < K - 1))
        block = change[:, felt] / delta[changed[felt]].T[:, :, None]
        rows.append(np.broadcast_to(whole[felt], block.shape).ravel())
        by = problem.columns[1][changed[felt]].T  # (d, number)
        cols.append(np.broadcast_to(by[:, :, None], block.shape).ravel())
        values.append(block.ravel())
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(cols)))
    by_a = scipy.sparse.csc_array(scipy.sparse.coo_array(entries, shape=(whole.size, whole.size)))
    of_a = np.zeros(whole.size)
    of_a[problem.columns[1].ravel()] = 1.0
    share = scipy.sparse.diags_array(1.0 - 0.5 * of_a)  # both triangles of what is by a twice
    return scipy.sparse.csc_array(share @ by_a + (share @ by_a).T)


def _slopes(
    problem: PlanningProblem, a: np.ndarray, u: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Gradients of weights . residuals by u_k and a_k+1 of motions (M, K, d): (M, K - 1, m + d)."""
    dynamics, (M, K, d) = problem.dynamics, a.shape
    before = a[:, :1] if problem.a_before is None else np.tile(problem.a_before, (M, 1, 1))
    jet = dynamics.embedding.at(np.concatenate((before, a), axis=1).reshape(-1, d))
    start = (np.arange(M)[:, None] * (K + 1) + np.arange(K - 1)).ravel()  # a_k-1 of each step

    def later(count: int) -> Jet:
        return Jet(jet.value[start + count], jet.gradient[start + count])

    now, ahead = (each.reshape(-1, d) for each in (a[:, :-1], a[:, 1:]))
    steps = Steps(ahead, now, np.tile(u, (M, 1)), later(2), later(1), later(0))
    at = dynamics.linearise(steps)

    def weighed(slopes: np.ndarray) -> np.ndarray:
        each = slopes.reshape(M, K - 1, *slopes.shape[1:])
        found: np.ndarray = np.einsum("kr,Mkrc->Mkc", weights, each)
        return found

    by_a = weighed(at.by_next)
    by_a[:, :-1] += weighed(at.by_now)[:, 1:]
    by_a[:, :-2] += weighed(at.by_before)[:, 2:]
    return np.concatenate((weighed(at.by_input), by_a), axis=2)
