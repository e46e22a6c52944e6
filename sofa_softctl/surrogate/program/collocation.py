"""Sequential convex optimisation of inputs and coordinates, with an exact l1 penalty."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse.linalg
from scipy.sparse import block_array, block_diag, csc_array, csr_array, eye_array

from sofa_softctl.qp.problem import SparseQP
from sofa_softctl.surrogate.program.linearization import Model, approximate, balance_slope, scatter
from sofa_softctl.surrogate.program.settings import Settings
from sofa_softctl.surrogate.program.transcription import (
    PlanningProblem,
    TrajectoryIterate,
    evaluate,
)
from sofa_softctl.surrogate.program.trust_region import (
    Answers,
    next_radius,
    rounding,
    violation,
)


def subproblem(
    problem: PlanningProblem,
    trial: TrajectoryIterate,
    model: Model,
    *,
    scale: float,
    hessian: int,
    penalty: float,
    radius: float,
) -> tuple[SparseQP, np.ndarray]:
    """QP of a step: exact l1 penalty on the defects, changes of at most `radius`.

    It is always feasible. Variables: the change x, shape (n,); parts p, q >= 0 of the defects with
    lack + balance x = p - q, shape (m,) each; the depth t >= 0 in obstacles within the trust
    region.

    Returns:
        QP, with the steps as the first m rows, and a mask of the n lower and upper bounds that come
        from the trust region, shape (2, n).

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
    # The proximal term makes the solution unique if cables are redundant; it vanishes at optima.
    H = scale * model.hessians[hessian] + 1e-8 * eye_array(n)
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


def _room(problem: PlanningProblem, trial: TrajectoryIterate) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest decrease (<= 0) and increase (>= 0) of each variable within its limits."""
    (u_low, u_high), (a_low, a_high) = problem.input_bounds, problem.state_bounds
    current = np.concatenate((trial.u, trial.a[1:]), axis=1).ravel()
    low = np.concatenate((u_low, a_low), axis=1).ravel() - current
    high = np.concatenate((u_high, a_high), axis=1).ravel() - current
    return np.minimum(low, 0.0), np.maximum(high, 0.0)


def _rates(
    problem: PlanningProblem, trial: TrajectoryIterate
) -> tuple[csr_array, np.ndarray, np.ndarray]:
    """Return the rows and limits of u_k - u_k-1 for limited rates."""
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


@dataclass(frozen=True)
class CollocationSettings:
    """Numbers of the search that are not settings of the optimiser."""

    corrections_max: int = 3
    """Maximum number of corrections of a step that increases the defects."""
    stalled_iterations_max: int = 40
    """Number of iterations with little gain before the end; a trust region may shrink in twelve."""
    progress_min: float = 1e-6
    """Gain in all these iterations over the cost [-]; in front of obstacles steps gain ever
    less."""


SETTINGS = CollocationSettings()


class Collocation:
    """Search with inputs and coordinates of all instants as variables.

    The equations of the steps hold only at the end. Each iteration solves the QP of `subproblem`.
    Its step is accepted if the merit, scaled cost plus penalty times the l1 norm of the defects,
    decreases by a tenth of the QP's prediction. A step that fails because of curvature of the
    equations is repeated with coordinates corrected at the same inputs, or the trust region
    shrinks. The penalty stays above twice the largest multiplier, so that it is exact, and grows
    tenfold if the search stops with defects.

    Source: Schulman et al. 2014, Algorithm 1; Nocedal and Wright 2006, Algorithm 18.4 and (15.36)
        for the correction. The QP has an l1 penalty from the start, so it has a solution in every
        trust region, for a fifth more time than with hard equations.
    """

    def __init__(self, problem: PlanningProblem, trial: TrajectoryIterate, settings: Settings):
        self.problem, self.trial, self.settings = problem, trial, settings
        self.model = approximate(problem, trial)
        largest = float(self.model.hessians[0].diagonal().max(initial=0.0))
        self.scale = 1.0 / largest if largest > 0.0 else 1.0
        self.radius, self.penalty = settings.radius, settings.penalty
        self.hessian = 0
        # of motions in balance, the last ones
        self.costs: deque[float] = deque(maxlen=SETTINGS.stalled_iterations_max + 1)
        self.stationarity, self.converged = np.inf, False
        self.answers = Answers(settings.solvers)

    @property
    def merit(self) -> float:
        """Scaled cost plus penalty times the l1 norm of the defects."""
        return self.trial.merit(self.scale, self.penalty)

    @property
    def balanced(self) -> bool:
        """True if the trajectory can be executed."""
        return bool(np.abs(self.trial.lack).max() <= self.settings.defect)

    @property
    def stuck(self) -> bool:
        """True if further iterations would not help."""
        s = self.settings
        ended = self.radius < s.radius_min or self.penalty > s.penalty_max
        # beside an unusable cell, or in front of an obstacle, steps become ever smaller
        idle = len(self.costs) > SETTINGS.stalled_iterations_max and (
            self.costs[0] - self.costs[-1] <= SETTINGS.progress_min * abs(self.costs[-1])
        )
        return ended or idle

    def iterate(self) -> bool:
        """Solve a QP and try its step; return True if it was accepted."""
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
        accepted, predicted = self._accept_or_reject(x)
        self._weigh(float(np.abs(y[len(qp.g) : len(qp.g) + m]).max()), predicted)
        return accepted

    def _accept_or_reject(self, x: np.ndarray) -> tuple[bool, float]:
        """Accept the step x if the merit decreases, then choose trust region and Hessian."""
        predictions = self.model.decrease(self.trial, x, self.scale, self.penalty)
        predicted, merit = float(predictions[self.hessian]), self.merit
        noise = rounding(merit)
        trial = _apply_step(self.problem, self.trial, x)
        for _ in range(SETTINGS.corrections_max):
            if merit - trial.merit(self.scale, self.penalty) >= 0.75 * predicted:
                break
            trial = _correct_defects(self.problem, trial, self.scale, self.penalty)
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
            radius_max=self.settings.radius_max,
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

    def _second_order_correction(self, stepped: TrajectoryIterate) -> TrajectoryIterate:
        """Return the second-order correction of a step: the QP with the step's defects, if better.

        It keeps obstacles and rest at the end, unlike corrections of the defects.
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
        corrected = _apply_step(self.problem, trial, answer.x[: len(x)])
        corrected = _correct_defects(self.problem, corrected, self.scale, self.penalty)
        is_better = corrected.merit(self.scale, self.penalty) < stepped.merit(
            self.scale, self.penalty
        )
        return corrected if is_better else stepped

    def _weigh(self, multiplier: float, predicted: float) -> None:
        """Keep the penalty above the multipliers; raise it if defects remain."""
        if multiplier < 0.99 * self.penalty:
            self.penalty = max(self.penalty, 2.0 * multiplier)
        elif not self.balanced and predicted <= 1e-6 * max(1.0, self.merit):
            self.penalty *= 10.0
            self.radius = max(self.radius, self.settings.radius)


def _apply_step(
    problem: PlanningProblem, trial: TrajectoryIterate, x: np.ndarray
) -> TrajectoryIterate:
    """Return the trial changed by x, shape (n,)."""
    u_at, a_at = problem.columns
    a = trial.a.copy()
    a[1:] = np.clip(a[1:] + x[a_at], *problem.state_bounds)
    return evaluate(problem, a, np.clip(trial.u + x[u_at], *problem.input_bounds))


def _correct_defects(
    problem: PlanningProblem, trial: TrajectoryIterate, scale: float, penalty: float
) -> TrajectoryIterate:
    """Correct the defects of a trial at the same inputs, if that lowers the merit.

    It is a Newton step on all a simultaneously: the slope by a is block lower triangular.
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
