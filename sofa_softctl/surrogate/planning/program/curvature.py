"""Curvature of the balance: the part of the Lagrangian's Hessian that costs do not have."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse

from sofa_softctl.surrogate.planning.dynamics import Steps
from sofa_softctl.surrogate.planning.program.transcription import PlanningProblem, Trial

DIFFERENCE = 1e-6
"""Change of a coordinate in differences of slopes [-]."""
REACH = 2
"""Instants before and after one whose coordinates its slope depends on: steps have three."""
AUGMENTED = 10.0 ** np.arange(1, 7)
"""Weights of the balance that are tried to make a Hessian positive definite, of its size [-]."""
SHIFTED = 10.0 ** np.arange(-4, 3)
"""Multiples of the identity that are tried after that, of its size [-]."""
LEAST = 1e-8
"""Added to the diagonal before it counts as positive definite, of its size [-]."""


def balance_curvature(
    problem: PlanningProblem, trial: Trial, multipliers: np.ndarray
) -> scipy.sparse.csc_array:
    """Hessian of multipliers . lack at a trial, shape (n, n), by differences of its slope.

    Coordinates five instants apart are changed together, as no slope depends on two of them: 5 d
    linearisations of the motion. Inputs enter a balance linearly.

    Args:
        problem: The problem.
        trial: The motion.
        multipliers: Of each component of the lack, those of steps first [cost], shape (m,).

    Source: Curtis, Powell, Reid 1974, on the estimation of sparse Jacobian matrices.
    """
    K, d, m = problem.instants, problem.d, problem.m
    weights = multipliers[: d * (K - 1)].reshape(K - 1, d) / problem.dynamics.unit
    here = _slope(problem, trial.a, trial.u, weights)
    period, at = 2 * REACH + 1, np.arange(K - 1)
    whole = np.concatenate(problem.columns, axis=1)  # (K - 1, m + d)
    rows, cols, values = [], [], []
    for color in range(period):
        changed = at + (color - at + REACH) % period - REACH  # the instant that each one feels
        felt = (changed >= 0) & (changed < K - 1)
        for i in range(d):
            a = trial.a.copy()
            a[1 + np.arange(color, K - 1, period), i] += DIFFERENCE
            change = (_slope(problem, a, trial.u, weights) - here) / DIFFERENCE
            rows.append(whole[felt].ravel())
            cols.append(np.repeat(problem.columns[1][changed[felt], i], m + d))
            values.append(change[felt].ravel())
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(cols)))
    by_a = scipy.sparse.csc_array(scipy.sparse.coo_array(entries, shape=(whole.size, whole.size)))
    of_a = np.zeros(whole.size)
    of_a[problem.columns[1].ravel()] = 1.0
    share = scipy.sparse.diags_array(1.0 - 0.5 * of_a)  # both triangles of what is by a twice
    return scipy.sparse.csc_array(share @ by_a + (share @ by_a).T)


def convex(H: scipy.sparse.csc_array, balance: scipy.sparse.csc_array) -> scipy.sparse.csc_array:
    """A Hessian that is positive definite, and the same along motions that keep the balance.

    Weights of the squared balance are added until it is positive definite, as far as that helps:
    far from an optimum it does not, and the identity is added.

    Args:
        H: Symmetric and banded, shape (n, n).
        balance: Jacobian of the balance, shape (m, n).

    Source: Nocedal and Wright 2006, section 17.3, of augmented Lagrangians.
    """
    size = max(float(abs(H.diagonal()).max(initial=0.0)), 1e-300)
    eye = scipy.sparse.eye_array(H.shape[0], format="csc")
    squares = scipy.sparse.csc_array(balance.T @ balance)
    scale = size / max(float(squares.diagonal().max(initial=0.0)), 1e-300)
    candidates = [H, *(H + weight * scale * squares for weight in AUGMENTED)]
    for candidate in candidates:
        if _positive(candidate + LEAST * size * eye):
            return scipy.sparse.csc_array(candidate + LEAST * size * eye)
    middle = candidates[len(candidates) // 2]
    for shift in SHIFTED:
        if _positive(middle + shift * size * eye):
            return scipy.sparse.csc_array(middle + shift * size * eye)
    return scipy.sparse.csc_array(size * eye)


def _slope(
    problem: PlanningProblem, a: np.ndarray, u: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Gradient of weights . residuals by u_k and a_k+1, shape (K - 1, m + d)."""
    dynamics = problem.dynamics
    first = a[0] if problem.a_before is None else problem.a_before
    jet = dynamics.embedding.at(np.vstack((first, a)))
    at = dynamics.linearise(Steps(a[1:], a[:-1], u, jet[2:], jet[1:-1], jet[:-2]))
    by_a = np.einsum("kr,krc->kc", weights, at.by_next)
    by_a[:-1] += np.einsum("kr,krc->kc", weights[1:], at.by_now[1:])
    by_a[:-2] += np.einsum("kr,krc->kc", weights[2:], at.by_before[2:])
    return np.hstack((np.einsum("kr,krc->kc", weights, at.by_input), by_a))


def _positive(H: scipy.sparse.csc_array) -> bool:
    """Whether a symmetric banded matrix is positive definite."""
    entries = scipy.sparse.coo_array(H)
    offset = entries.row - entries.col
    lower = offset >= 0
    band = np.zeros((int(offset.max(initial=0)) + 1, H.shape[0]))
    np.add.at(band, (offset[lower], entries.col[lower]), entries.data[lower])
    try:
        scipy.linalg.cholesky_banded(band, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return True
