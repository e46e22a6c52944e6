"""Sequential quadratic programming on independent variables only, with exact Hessians."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse

from sofa_softctl.qp.problem import QPResult, SparseQP
from sofa_softctl.surrogate.program.settings import Settings
from sofa_softctl.surrogate.program.transcription import PlanningProblem, TrajectoryIterate
from sofa_softctl.surrogate.program.trust_region import (
    Answers,
    next_radius,
    rounding,
    violation,
)
from softctl_swimmer.planning.reduction import (
    ReducedModel,
    Variables,
    reduce,
    restore_balance,
)


@dataclass(frozen=True)
class ReducedSpaceSettings:
    """Tolerances and penalties of a `ReducedSpace`."""

    idle_iterations_max: int = 20
    """Number of iterations with negligible gain before the end."""
    idle_gain: float = 1e-9
    """Negligible gain of these iterations, relative to the cost [-]."""
    excess_tolerance: float = 1e-6
    """Negligible excess over limits of variables, rates and rest [-]."""
    excess_ratio_max: float = 0.9
    """Remaining fraction of the excess above which a larger penalty is useless [-]."""
    gain_tolerance: float = 1e-6
    """Predicted gain at an optimum, relative to the cost [-]."""
    penalty_margin: float = 10.0
    """Largest ratio of the penalty to the multipliers [-]."""
    penalty_growth: float = 10.0
    """Factor of the penalty if limits are violated [-]."""
    penalty_min: float = 1e-6
    """Penalty if no limit is reached [-]."""


_SETTINGS = ReducedSpaceSettings()


class _Subproblem(NamedTuple):
    """QP of a step."""

    qp: SparseQP
    """The QP; its first rows are soft."""
    active: tuple[np.ndarray, np.ndarray]
    """Indices of the limits' rows and of the depths that the trust region can reach."""
    trusted: np.ndarray
    """Masks of lower and upper bounds that belong to the trust region, shape (2, p)."""


class _SolvedSubproblem(NamedTuple):
    """A QP with its solution."""

    subproblem: _Subproblem
    """The QP."""
    answer: QPResult
    """Solution of the QP."""
    excess: float
    """Total excess of the soft rows."""


class ReducedSpace:
    """Search among motions in balance, for costs without curvature.

    Variables are the inputs, or the same number of coordinates. Each iteration solves a QP of their
    changes, with the exact Hessian of the Lagrangian along motions in balance. Limits of dependent
    variables, rates, rest at the end and obstacles are soft rows with a cost of violation; except
    for obstacles, it is a penalty above twice the largest multiplier. A step is accepted if costs
    and penalties decrease by a tenth of the prediction.

    If a cost is linear, such as a distance, its Hessian is zero, and `Collocation` is slow. That
    search suits robots that fall or snap: its iterates need not be in balance.

    Args:
        problem: The problem.
        trial: First motion.
        settings: Settings of the optimiser.
        independent: Coordinates that are the variables, one per input, or None for the inputs.
            Coordinates are better if each is driven by an input: a small change of an early
            torque causes large changes of the later motion.

    Source: Nocedal and Wright 2006, sections 18.3 on reduced Hessians and 18.5 on penalties.
    """

    def __init__(
        self,
        problem: PlanningProblem,
        trial: TrajectoryIterate,
        settings: Settings,
        independent: tuple[int, ...] | None = None,
    ):
        self.problem, self.settings = problem, settings
        self.radius, self.penalty, self.scale = settings.radius, settings.penalty, 1.0
        self.variables = Variables(problem, independent)
        self.costs: deque[float] = deque(maxlen=_SETTINGS.idle_iterations_max + 1)
        self.stationarity, self.converged = np.inf, False
        self.answers = Answers(settings.solvers)
        start = restore_balance(problem, self.variables, trial, settings.defect)
        self.trial = trial if start is None else start
        self.model: ReducedModel | None = None
        rows, free = len(self.variables.row_max), len(self.variables.free)
        self.multipliers = np.zeros(rows), np.zeros(len(trial.depth))  # of rows, of depths
        self.held = np.zeros(free, bool), np.zeros(rows, bool)
        if start is not None:
            self._approximate()
        if self.model is not None:
            largest = float(self.model.hessian.diagonal().max(initial=0.0))
            self.scale = 1.0 / largest if largest > 0.0 else 1.0

    @property
    def merit(self) -> float:
        """Scaled cost plus the penalty times violations."""
        return self._merit(self.trial)

    @property
    def balanced(self) -> bool:
        """True if the motion can be executed."""
        worst = float(self.variables.excess(self.trial).max(initial=0.0))
        return worst <= _SETTINGS.excess_tolerance and self.trial.defect <= self.settings.defect

    @property
    def stuck(self) -> bool:
        """True if further iterations would not help."""
        s = self.settings
        ended = self.radius < s.radius_min or self.penalty > s.penalty_max
        idle = len(self.costs) > _SETTINGS.idle_iterations_max and (
            self.costs[0] - self.costs[-1] <= _SETTINGS.idle_gain * abs(self.costs[-1])
        )
        return self.model is None or ended or idle

    def iterate(self) -> bool:
        """Solve a QP and accept its step if it is good enough; return True if it was accepted."""
        if self.model is None:
            return False
        excess, depth = self.variables.excess(self.trial), self.model.depth
        steered = self._solve_steered(self.model, excess, depth)
        if steered is None:
            self.radius *= 0.25
            return False
        (qp, active, trusted), answer, _ = steered
        p = len(self.model.gradient)
        x, y = answer.x[:p], answer.y
        self.multipliers = _spread(y[len(qp.g) :], active, (len(excess), len(depth)))
        self._hold(self.model, x, y[:p], np.where(y[:p] < 0.0, *trusted))
        self.stationarity = violation(qp, x, y, trusted)
        predicted = self._decrease(self.model, x)
        is_inside = np.abs(x).max() < self.radius
        has_little_gain = is_inside and predicted <= _SETTINGS.gain_tolerance * abs(
            self.scale * self.trial.cost
        )
        is_optimal = has_little_gain or self.stationarity <= self.settings.stationarity
        self.converged = bool(self.balanced and is_optimal)
        is_accepted = self._try_step(self.model, x, predicted)
        self._weigh(predicted)
        return is_accepted

    def _solve_steered(
        self, model: ReducedModel, excess: np.ndarray, depth: np.ndarray
    ) -> _SolvedSubproblem | None:
        """Solve a QP, with a penalty large enough to respect limits as far as possible.

        Otherwise a motion within its limits leaves them for a cost with yet unknown multipliers,
        and returns slowly. If ten times the penalty does not help, the largest penalty shows
        whether any does.

        Source: Byrd, Nocedal, Waltz 2008, "Steering exact penalty methods", in short.
        """
        solved = self._solve_subproblem(model, excess, depth)
        attainable: float | None = None
        while (
            solved
            and solved.excess > _SETTINGS.excess_tolerance
            and self.penalty < self.settings.penalty_max
        ):
            penalty_before = self.penalty
            self.penalty = min(_SETTINGS.penalty_growth * penalty_before, self.settings.penalty_max)
            stronger = self._solve_subproblem(model, excess, depth)
            if stronger and stronger.excess > _SETTINGS.excess_ratio_max * solved.excess:
                if attainable is None:
                    attainable = self._attainable(model, excess, depth)
                if attainable > _SETTINGS.excess_ratio_max * solved.excess:
                    stronger = None
            if stronger is None:
                self.penalty = penalty_before
                break
            solved = stronger
        return solved

    def _attainable(self, model: ReducedModel, excess: np.ndarray, depth: np.ndarray) -> float:
        """Return the total excess of rows with the largest penalty."""
        penalty, self.penalty = self.penalty, self.settings.penalty_max
        solved = self._solve_subproblem(model, excess, depth)
        self.penalty = penalty
        return np.inf if solved is None else solved.excess

    def _solve_subproblem(
        self, model: ReducedModel, excess: np.ndarray, depth: np.ndarray
    ) -> _SolvedSubproblem | None:
        """Solve a QP with the present penalty; return None without a solution."""
        subproblem = self._subproblem(model, excess, depth)
        answer = self.answers.of(subproblem.qp)
        if answer is None:
            return None
        p = len(model.gradient)
        return _SolvedSubproblem(
            subproblem, answer, float(answer.x[p : p + len(subproblem.active[0])].sum())
        )

    def _hold(self, model: ReducedModel, x: np.ndarray, y: np.ndarray, trusted: np.ndarray) -> None:
        """Find the active limits of a step: those with a larger multiplier than distance."""
        multiplier_max = max(
            float(np.abs(y).max()), float(self.multipliers[0].max(initial=0.0)), 1e-300
        )
        free = self.variables.free
        values = self.variables.vector(self.trial)[free] + x
        distance = np.minimum(values - self.variables.low[free], self.variables.high[free] - values)
        bounds = ~trusted & (
            np.abs(y) / multiplier_max > np.maximum(distance, 0.0) / self.radius + 1e-6
        )
        row_distance = np.maximum(-(self.variables.excess(self.trial) + model.rows @ x), 0.0)
        rows = self.multipliers[0] / multiplier_max > row_distance / self.radius + 1e-6
        self.held = bounds, rows

    def _approximate(self) -> None:
        pull, press = (array / self.scale for array in self.multipliers)
        self.model = reduce(self.problem, self.variables, self.trial, pull, press, self.held)

    def _subproblem(
        self, model: ReducedModel, excess: np.ndarray, depth: np.ndarray
    ) -> _Subproblem:
        """Return the QP of a step in changes of independent variables and excesses s >= 0 of rows.

        Args:
            model: The model.
            excess: Excess of the limits' rows without a change, shape (q,).
            depth: Depth of points without a change, shape (h,).
        """
        p, radius = len(model.gradient), self.radius
        hard = np.flatnonzero(excess + np.abs(model.rows).sum(axis=1) * radius > 0.0)
        deep = np.flatnonzero(depth + np.abs(model.depth_slope).sum(axis=1) * radius > 0.0)
        slope = np.vstack((model.rows[hard], model.depth_slope[deep]))
        weight = np.concatenate(
            (np.full(len(hard), self.penalty), self.scale * model.depth_weight[deep])
        )
        q, free = len(slope), self.variables.free
        values = self.variables.vector(self.trial)[free]
        low = np.minimum(self.variables.low[free] - values, 0.0)
        high = np.maximum(self.variables.high[free] - values, 0.0)
        H = np.zeros((p + q, p + q))
        H[:p, :p] = self.scale * model.hessian
        no_limit = np.full(q, np.inf)
        qp = SparseQP(
            H=scipy.sparse.csc_array(H),
            g=np.concatenate((self.scale * model.gradient, weight)),
            A=scipy.sparse.csc_array(np.hstack((slope, -np.eye(q)))),
            lower=np.concatenate((np.maximum(low, -radius), np.zeros(q), -no_limit)),
            upper=np.concatenate((np.minimum(high, radius), no_limit, -excess[hard], -depth[deep])),
        )
        return _Subproblem(qp, (hard, deep), np.array([low < -radius, high > radius]))

    def _try_step(self, model: ReducedModel, x: np.ndarray, predicted: float) -> bool:
        """Accept the step x if the merit decreases, and update the trust region."""
        merit = self.merit
        noise = rounding(merit)
        candidate = self._step(self.trial, model.basis @ x)
        if candidate is not None and merit - self._merit(candidate) < 0.75 * predicted:
            candidate = self._correct(model, x, candidate)
        actual = -np.inf if candidate is None else merit - self._merit(candidate)
        step_size = float(np.abs(x).max())
        self.radius = next_radius(
            self.radius,
            step_size,
            actual=actual,
            predicted=predicted,
            noise=noise,
            radius_max=self.settings.radius_max,
        )
        is_accepted = bool(actual >= 0.1 * predicted - noise and actual >= -noise)
        if is_accepted and candidate is not None:
            self.trial = candidate
            if not self.converged:
                self._approximate()
        if self.balanced:
            self.costs.append(self.trial.cost)
        else:
            self.costs.clear()
        return is_accepted

    def _step(self, trial: TrajectoryIterate, x: np.ndarray) -> TrajectoryIterate | None:
        """Return the motion in balance near a trial changed by x, shape (n,)."""
        moved = self.variables.move(self.problem, trial, x)
        return restore_balance(self.problem, self.variables, moved, self.settings.defect)

    def _correct(
        self, model: ReducedModel, x: np.ndarray, candidate: TrajectoryIterate
    ) -> TrajectoryIterate:
        """Return a second-order correction of a step, from the rows at its end, if it is better.

        Without it, steps along a curved limit are short (Maratos 1978).
        """
        excess = self.variables.excess(candidate) - model.rows @ x
        depth = candidate.depth - model.depth_slope @ x
        answer = self.answers.of(self._subproblem(model, excess, depth).qp)
        if answer is None:
            return candidate
        corrected = self._step(candidate, model.basis @ (answer.x[: len(x)] - x))
        return (
            corrected
            if corrected is not None and self._merit(corrected) < self._merit(candidate)
            else candidate
        )

    def _decrease(self, model: ReducedModel, x: np.ndarray) -> float:
        """Return the predicted decrease of the merit for changes x, shape (p,)."""
        smooth = model.gradient @ x + 0.5 * x @ model.hessian @ x
        excess = self.variables.excess(self.trial)
        excess_change = _positive_part(excess + model.rows @ x).sum() - _positive_part(excess).sum()
        deeper = _positive_part(model.depth + model.depth_slope @ x) - _positive_part(model.depth)
        return -float(
            self.scale * (smooth + model.depth_weight @ deeper) + self.penalty * excess_change
        )

    def _merit(self, trial: TrajectoryIterate) -> float:
        excess = float(_positive_part(self.variables.excess(trial)).sum())
        value = self.scale * trial.cost + self.penalty * excess
        return value if np.isfinite(value) else np.inf

    def _weigh(self, predicted: float) -> None:
        """Keep the penalty slightly above the multipliers; raise it if limits require it."""
        multiplier = float(self.multipliers[0].max(initial=0.0))
        if multiplier < 0.99 * self.penalty:
            self.penalty = float(
                np.clip(
                    self.penalty,
                    2.0 * multiplier,
                    _SETTINGS.penalty_margin * multiplier + _SETTINGS.penalty_min,
                )
            )
        elif not self.balanced:
            self.penalty *= 4.0
            if predicted <= 1e-6 * max(1.0, abs(self.merit)):
                self.radius = max(self.radius, self.settings.radius)


def _positive_part(value: np.ndarray) -> np.ndarray:
    return np.maximum(value, 0.0)


def _spread(
    y: np.ndarray, active: tuple[np.ndarray, np.ndarray], sizes: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return multipliers of all rows and depths, given those in the QP."""
    all_multipliers = np.zeros(sizes[0]), np.zeros(sizes[1])
    all_multipliers[0][active[0]] = np.maximum(y[: len(active[0])], 0.0)
    all_multipliers[1][active[1]] = np.maximum(
        y[len(active[0]) : len(active[0]) + len(active[1])], 0.0
    )
    return all_multipliers
