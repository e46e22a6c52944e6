"""Quadratic program of a trust region.

Sequential convex optimisation of inputs and coordinates, with an exact l1 penalty.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse.linalg
from scipy.sparse import block_array, block_diag, csc_array, csr_array, eye_array

from sofa_softctl.qp.problem import SparseQP
from sofa_softctl.surrogate.program.linearization import Model, approximate, balance_slope, scatter
from sofa_softctl.surrogate.program.settings import Settings
from sofa_softctl.surrogate.program.transcription import PlanningProblem, Trial, evaluate
from sofa_softctl.surrogate.program.trust_region import (
    Answers,
    next_radius,
    rounding,
    violation,
)

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
    near_rows = np.flatnonzero(model.depth + reach > 0.0)
    t = len(near_rows)
    rate, rate_lower, rate_upper = _rates(problem, trial)
    I, T, no_slack = eye_array(m), eye_array(t), csr_array((rate.shape[0], t))
    A: list[list[Any]] = [
        [model.balance, -I, I, None],
        [rate, None, None, no_slack],
        [model.depth_slope[near_rows], None, None, -T],
    ]
    H = scale * model.hessians[hessian] + _PROXIMAL * eye_array(n)
    slack = np.zeros(2 * m + t)
    g = (scale * model.gradient, np.full(2 * m, penalty), scale * model.depth_weight[near_rows])
    low, high = _room(problem, trial)
    qp = SparseQP(
        H=csc_array(block_diag((H, csc_array((2 * m + t, 2 * m + t))))),
        g=np.concatenate(g),
        A=csc_array(block_array(A)),
        lower=np.concatenate(
            (np.maximum(low, -radius), slack, -trial.lack, rate_lower, np.full(t, -np.inf))
        ),
        upper=np.concatenate(
            (
                np.minimum(high, radius),
                slack + np.inf,
                -trial.lack,
                rate_upper,
                -model.depth[near_rows],
            )
        ),
    )
    return qp, np.array([low < -radius, high > radius])


def _room(problem: PlanningProblem, trial: Trial) -> tuple[np.ndarray, np.ndarray]:
    """Largest decrease, at most 0, and increase, at least 0, of each variable within the limits."""
    (u_low, u_high), (a_low, a_high) = problem.input_bounds, problem.state_bounds
    current = np.concatenate((trial.u, trial.a[1:]), axis=1).ravel()
    low = np.concatenate((u_low, a_low), axis=1).ravel() - current
    high = np.concatenate((u_high, a_high), axis=1).ravel() - current
    return np.minimum(low, 0.0), np.maximum(high, 0.0)


def _rates(problem: PlanningProblem, trial: Trial) -> tuple[csr_array, np.ndarray, np.ndarray]:
    """Rows and limits of u_k - u_k-1 where the rate is limited."""
    K, m = problem.instants, problem.m
    u_at, a_at = problem.columns
    rows = np.arange(m * (K - 1)).reshape(K - 1, m)
    identity = np.broadcast_to(np.eye(m), (K - 1, m, m))
    shape = (rows.size, u_at.size + a_at.size)
    slope = scatter(identity, rows, u_at, shape) - scatter(identity[1:], rows[1:], u_at[:-1], shape)
    previous = trial.u[0] if problem.u_before is None else problem.u_before
    change = np.diff(trial.u, axis=0, prepend=np.reshape(previous, (1, m))).ravel()
    change_max = np.array(np.broadcast_to(problem.limits.rate, (K - 1, m))) * problem.dynamics.dt
    if problem.u_before is None:
        change_max[0] = np.inf
    change_max = change_max.ravel()
    limited_rows = np.flatnonzero(np.isfinite(change_max))
    lower, upper = np.minimum(-change_max - change, 0.0), np.maximum(change_max - change, 0.0)
    return csr_array(slope)[limited_rows], lower[limited_rows], upper[limited_rows]


_CORRECTIONS = 3  # of a step that lost its balance
_IDLE = 40  # iterations with hardly any gain before the end: a trust region may shrink in a dozen
_HARDLY = 1e-6  # of the cost, in all of them: in front of an obstacle steps gain ever less


class Collocation:
    """Inputs and coordinates of all instants are variables; steps are in balance at the end.

    Each iteration solves the QP of `subproblem`. Its step is accepted if the merit, scaled cost
    plus penalty times the l1 norm of the defects, decreases by a tenth of the QP's prediction. A
    step that fails due to curvature of the balance is tried again with the motion corrected at the
    same inputs, or else the trust region shrinks. The penalty stays above twice the largest
    multiplier, so that it is exact, and grows tenfold where the optimiser stops out of balance.

    Source: Schulman et al. 2014, Algorithm 1; Nocedal and Wright 2006, Algorithm 18.4 and (15.36)
        for the correction. The QP's penalty is l1 from the start: it then has a solution in every
        trust region, at a fifth more time than with hard equations.
    """

    def __init__(self, problem: PlanningProblem, trial: Trial, settings: Settings):
        self.problem, self.trial, self.settings = problem, trial, settings
        self.model = approximate(problem, trial)
        largest = float(self.model.hessians[0].diagonal().max(initial=0.0))
        self.scale = 1.0 / largest if largest > 0.0 else 1.0
        self.radius, self.penalty = settings.radius, settings.penalty
        self.hessian = 0
        self.costs: deque[float] = deque(maxlen=_IDLE + 1)  # of motions in balance, the last ones
        self.stationarity, self.converged = np.inf, False
        self.answers = Answers(settings.solvers)

    @property
    def merit(self) -> float:
        """Scaled cost, and the penalty times the lack of balance."""
        return self.trial.merit(self.scale, self.penalty)

    @property
    def balanced(self) -> bool:
        """Whether the motion can be executed."""
        return bool(np.abs(self.trial.lack).max() <= self.settings.defect)

    @property
    def stuck(self) -> bool:
        """Whether further iterations would not help."""
        s = self.settings
        ended = self.radius < s.radius_min or self.penalty > s.penalty_max
        # beside an unusable cell, or in front of an obstacle, steps become ever smaller
        idle = len(self.costs) > _IDLE and (
            self.costs[0] - self.costs[-1] <= _HARDLY * abs(self.costs[-1])
        )
        return ended or idle

    def iterate(self) -> bool:
        """Solve a QP and accept its step if it is good enough; returns whether it was."""
        qp, trusted = subproblem(
            self.problem,
            self.trial,
            self.model,
            scale=self.scale,
            hessian=self.hessian,
            penalty=self.penalty,
            radius=self.radius,
        )
        answer = self.answers.of(qp)
        if answer is None:
            self.radius *= 0.25
            return False
        n, m = len(self.model.gradient), len(self.trial.lack)
        x, y = answer.x[:n], answer.y
        self.stationarity = violation(qp, x, y, trusted, m)
        self.converged = self.balanced and self.stationarity <= self.settings.stationarity
        accepted, predicted = self._take(x)
        self._weigh(float(np.abs(y[len(qp.g) : len(qp.g) + m]).max()), predicted)
        return accepted

    def _take(self, x: np.ndarray) -> tuple[bool, float]:
        """Accept the step x if the merit decreases; then choose trust region and Hessian."""
        predictions = self.model.decrease(self.trial, x, self.scale, self.penalty)
        predicted, merit = float(predictions[self.hessian]), self.merit
        noise = rounding(merit)
        trial = _moved(self.problem, self.trial, x)
        for _ in range(_CORRECTIONS):
            if merit - trial.merit(self.scale, self.penalty) >= 0.75 * predicted:
                break
            trial = _corrected(self.problem, trial, self.scale, self.penalty)
        if merit - trial.merit(self.scale, self.penalty) < 0.75 * predicted:
            trial = self._second_order_correction(trial)
        actual, step_size = merit - trial.merit(self.scale, self.penalty), float(np.abs(x).max())
        prediction_error = np.abs(predictions - actual) + noise
        if prediction_error[1 - self.hessian] < 0.5 * prediction_error[self.hessian]:
            self.hessian = 1 - self.hessian
        self.radius = next_radius(
            self.radius,
            step_size,
            actual=actual,
            predicted=predicted,
            noise=noise,
            most=self.settings.radius_max,
        )
        accepted = bool(actual >= 0.1 * predicted - noise and actual >= -noise)
        if accepted:
            self.trial = trial
            if not self.converged:
                self.model = approximate(self.problem, trial)
        if self.balanced:
            self.costs.append(self.trial.cost)
        else:
            self.costs.clear()
        return accepted, predicted

    def _second_order_correction(self, stepped: Trial) -> Trial:
        """Trial of the second-order correction: the QP with the defects at `there`, if better.

        It keeps obstacles and rest at the end, which corrections towards balance lose.
        """
        if not (self.problem.obstacles or self.problem.rest):
            return stepped
        trial, model = self.trial, self.model
        x = np.concatenate((stepped.u - trial.u, (stepped.a - trial.a)[1:]), axis=1).ravel()
        qp, _ = subproblem(
            self.problem,
            replace(trial, lack=stepped.lack - model.balance @ x),
            replace(model, depth=stepped.depth - model.depth_slope @ x),
            scale=self.scale,
            hessian=self.hessian,
            penalty=self.penalty,
            radius=self.radius,
        )
        answer = self.answers.of(qp)
        if answer is None:
            return stepped
        corrected = _moved(self.problem, trial, answer.x[: len(x)])
        corrected = _corrected(self.problem, corrected, self.scale, self.penalty)
        is_better = corrected.merit(self.scale, self.penalty) < stepped.merit(
            self.scale, self.penalty
        )
        return corrected if is_better else stepped

    def _weigh(self, multiplier: float, predicted: float) -> None:
        """Keep the penalty above the multipliers; raise it where balance requires it."""
        if multiplier < 0.99 * self.penalty:
            self.penalty = max(self.penalty, 2.0 * multiplier)
        elif not self.balanced and predicted <= 1e-6 * max(1.0, self.merit):
            self.penalty *= 10.0
            self.radius = max(self.radius, self.settings.radius)


def _moved(problem: PlanningProblem, trial: Trial, x: np.ndarray) -> Trial:
    """The trial changed by x, shape (n,)."""
    u_at, a_at = problem.columns
    a = trial.a.copy()
    a[1:] = np.clip(a[1:] + x[a_at], *problem.state_bounds)
    return evaluate(problem, a, np.clip(trial.u + x[u_at], *problem.input_bounds))


def _corrected(problem: PlanningProblem, trial: Trial, scale: float, penalty: float) -> Trial:
    """The motion corrected towards balance at the same inputs, if that lowers the merit.

    A Newton step on all a at once: the slope by a is block lower triangular.
    """
    _, a_at = problem.columns
    slope = balance_slope(problem, trial)[: a_at.size][:, a_at.ravel()]
    try:
        change = scipy.sparse.linalg.splu(slope.tocsc()).solve(trial.lack[: a_at.size])
    except RuntimeError:  # singular: the robot buckles at one of the instants
        return trial
    if not np.isfinite(change).all():
        return trial
    a = trial.a.copy()
    a[1:] = np.clip(a[1:] - change.reshape(a_at.shape), *problem.state_bounds)
    corrected = evaluate(problem, a, trial.u)
    return corrected if corrected.merit(scale, penalty) < trial.merit(scale, penalty) else trial
