"""Quadratic program of a trust region."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import block_array, block_diag, csc_array, csr_array, eye_array

from sofa_softctl.qp.problem import SparseQP
from sofa_softctl.surrogate.planning.program.linearization import Model, scatter
from sofa_softctl.surrogate.planning.program.transcription import PlanningProblem, Trial

_PROXIMAL = 1e-8  # makes the QP's answer unique where lines are redundant; nothing at an optimum


def subproblem(
    problem: PlanningProblem,
    trial: Trial,
    model: Model,
    *,
    scale: float,
    hessian: int,
    penalty: float,
    radius: float,
) -> tuple[SparseQP, np.ndarray]:
    """QP of a step: exact l1 penalty on the defects, changes of at most `radius`.

    It is always feasible. Variables: the change x, shape (n,); the lack's parts p, q >= 0 with
    lack + balance x = p - q, shape (m,) each; the depth t >= 0 in obstacles within reach.

    Returns:
        The QP, its first m rows the balance, and which of the n bounds below and above are not
        limits but the trust region's, shape (2, n).

    Source: Schulman et al. 2014, section III; Nocedal and Wright 2006, section 18.5.
    """
    n, m = len(model.gradient), len(trial.lack)
    reach = abs(model.depth_slope).sum(axis=1) * radius
    near = np.flatnonzero(model.depth + reach > 0.0)
    t = len(near)
    rate, least, most = _rates(problem, trial)
    I, T, none = eye_array(m), eye_array(t), csr_array((rate.shape[0], t))
    A: list[list[Any]] = [
        [model.balance, -I, I, None],
        [rate, None, None, none],
        [model.depth_slope[near], None, None, -T],
    ]
    H = scale * model.hessians[hessian] + _PROXIMAL * eye_array(n)
    slack = np.zeros(2 * m + t)
    g = (scale * model.gradient, np.full(2 * m, penalty), scale * model.depth_weight[near])
    low, high = _room(problem, trial)
    qp = SparseQP(
        H=csc_array(block_diag((H, csc_array((2 * m + t, 2 * m + t))))),
        g=np.concatenate(g),
        A=csc_array(block_array(A)),
        lower=np.concatenate(
            (np.maximum(low, -radius), slack, -trial.lack, least, np.full(t, -np.inf))
        ),
        upper=np.concatenate(
            (np.minimum(high, radius), slack + np.inf, -trial.lack, most, -model.depth[near])
        ),
    )
    return qp, np.array([low < -radius, high > radius])


def _room(problem: PlanningProblem, trial: Trial) -> tuple[np.ndarray, np.ndarray]:
    """Largest decrease, at most 0, and increase, at least 0, of each variable within the limits."""
    (u_low, u_high), (a_low, a_high) = problem.input_bounds, problem.state_bounds
    here = np.concatenate((trial.u, trial.a[1:]), axis=1).ravel()
    low = np.concatenate((u_low, a_low), axis=1).ravel() - here
    high = np.concatenate((u_high, a_high), axis=1).ravel() - here
    return np.minimum(low, 0.0), np.maximum(high, 0.0)


def _rates(problem: PlanningProblem, trial: Trial) -> tuple[csr_array, np.ndarray, np.ndarray]:
    """Rows and limits of u_k - u_k-1 where the rate is limited."""
    K, m = problem.instants, problem.m
    u_at, a_at = problem.columns
    rows = np.arange(m * (K - 1)).reshape(K - 1, m)
    one = np.broadcast_to(np.eye(m), (K - 1, m, m))
    shape = (rows.size, u_at.size + a_at.size)
    slope = scatter(one, rows, u_at, shape) - scatter(one[1:], rows[1:], u_at[:-1], shape)
    previous = trial.u[0] if problem.u_before is None else problem.u_before
    change = np.diff(trial.u, axis=0, prepend=np.reshape(previous, (1, m))).ravel()
    most = np.array(np.broadcast_to(problem.limits.rate, (K - 1, m))) * problem.dynamics.dt
    if problem.u_before is None:
        most[0] = np.inf
    most = most.ravel()
    limited = np.flatnonzero(np.isfinite(most))
    lower, upper = np.minimum(-most - change, 0.0), np.maximum(most - change, 0.0)
    return csr_array(slope)[limited], lower[limited], upper[limited]
