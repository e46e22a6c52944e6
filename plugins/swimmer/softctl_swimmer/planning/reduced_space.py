"""Sequential quadratic programming on independent variables alone, with exact Hessians."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
import scipy.sparse

from sofa_softctl.qp.problem import QPResult, SparseQP
from sofa_softctl.surrogate.program.settings import Settings
from sofa_softctl.surrogate.program.transcription import PlanningProblem, Trial
from sofa_softctl.surrogate.program.trust_region import (
    Answers,
    next_radius,
    rounding,
    violation,
)
from softctl_swimmer.planning.reduction import (
    Reduced,
    Variables,
    in_balance,
    reduce,
)

_IDLE = 20  # iterations with hardly any gain before the end
_EXCESS = 1e-6  # beyond limits of variables, of rates and of rest that counts as none [-]
_GAIN = 1e-6  # predicted, of the cost, at which a motion counts as an optimum
_MARGIN = 10.0  # of the penalty above multipliers, at most
_MORE = 10.0  # times the penalty, where limits are not kept to
_HELPS = 0.9  # share of what exceeds limits above which more penalty does not help
_LEAST = 1e-6  # penalty, where no limit is reached
_HARDLY = 1e-9  # of the cost, in all of them


class _Subproblem(NamedTuple):
    """QP of a step."""

    qp: SparseQP
    """Its first rows are soft."""
    near: tuple[np.ndarray, np.ndarray]
    """Which limits' rows and which depths they are: those within the trust region."""
    trusted: np.ndarray
    """Which bounds below and above are the trust region's, shape (2, p)."""


class _Answered(NamedTuple):
    """A QP and its answer."""

    asked: _Subproblem
    """The QP."""
    answer: QPResult
    """Its answer."""
    over: float
    """What rows exceed there, in all."""


class ReducedSpace:
    """Each motion is in balance: for costs that do not bend by themselves.

    Variables are the inputs, or as many coordinates. Each iteration solves a QP of their changes,
    with the exact Hessian of the Lagrangian along motions in balance. Limits of what depends on
    them, rates, rest at the end and obstacles are soft rows: violation costs, of all but obstacles
    a penalty above twice the largest multiplier. A step is accepted if costs and penalties decrease
    by a tenth of the prediction.

    Where a cost is linear, as a distance that is covered, Hessians of costs alone say nothing, and
    `Collocation` creeps. That one is for robots that fall or snap: its motions need not be in
    balance on the way.

    Args:
        problem: The problem.
        trial: First motion.
        settings: Settings of the optimiser.
        independent: Coordinates that are the variables, one per input, or None for the inputs.
            Coordinates are better where each is driven by an input: a small change of a torque
            early in a motion is a large one of everything that follows.

    Source: Nocedal and Wright 2006, sections 18.3 on reduced Hessians and 18.5 on penalties.
    """

    def __init__(
        self,
        problem: PlanningProblem,
        trial: Trial,
        settings: Settings,
        independent: tuple[int, ...] | None = None,
    ):
        self.problem, self.settings = problem, settings
        self.radius, self.penalty, self.scale = settings.radius, settings.penalty, 1.0
        self.variables = Variables(problem, independent)
        self.costs: deque[float] = deque(maxlen=_IDLE + 1)
        self.stationarity, self.converged = np.inf, False
        self.answers = Answers(settings.solvers)
        found = in_balance(problem, self.variables, trial, settings.defect)
        self.trial = trial if found is None else found
        self.model: Reduced | None = None
        rows, free = len(self.variables.most), len(self.variables.free)
        self.multipliers = np.zeros(rows), np.zeros(len(trial.depth))  # of rows, of depths
        self.held = np.zeros(free, bool), np.zeros(rows, bool)
        if found is not None:
            self._approximate()
        if self.model is not None:
            largest = float(self.model.hessian.diagonal().max(initial=0.0))
            self.scale = 1.0 / largest if largest > 0.0 else 1.0

    @property
    def merit(self) -> float:
        """Scaled cost, and the penalty times violations."""
        return self._merit(self.trial)

    @property
    def balanced(self) -> bool:
        """Whether the motion can be executed."""
        worst = float(self.variables.excess(self.trial).max(initial=0.0))
        return worst <= _EXCESS and self.trial.defect <= self.settings.defect

    @property
    def stuck(self) -> bool:
        """Whether further iterations would not help."""
        s = self.settings
        ended = self.radius < s.radius_min or self.penalty > s.penalty_max
        idle = len(self.costs) > _IDLE and (
            self.costs[0] - self.costs[-1] <= _HARDLY * abs(self.costs[-1])
        )
        return self.model is None or ended or idle

    def iterate(self) -> bool:
        """Solve a QP and accept its step if it is good enough; returns whether it was."""
        if self.model is None:
            return False
        excess, depth = self.variables.excess(self.trial), self.model.depth
        steered = self._steered(self.model, excess, depth)
        if steered is None:
            self.radius *= 0.25
            return False
        (qp, near, trusted), answer, _ = steered
        p = len(self.model.gradient)
        x, y = answer.x[:p], answer.y
        self.multipliers = _spread(y[len(qp.g) :], near, (len(excess), len(depth)))
        self._hold(self.model, x, y[:p], np.where(y[:p] < 0.0, *trusted))
        self.stationarity = violation(qp, x, y, trusted)
        predicted = self._decrease(self.model, x)
        inside = np.abs(x).max() < self.radius
        little = inside and predicted <= _GAIN * abs(self.scale * self.trial.cost)
        optimal = little or self.stationarity <= self.settings.stationarity
        self.converged = bool(self.balanced and optimal)
        accepted = self._take(self.model, x, predicted)
        self._weigh(predicted)
        return accepted

    def _steered(self, model: Reduced, excess: np.ndarray, depth: np.ndarray) -> _Answered | None:
        """A QP and its answer, with a penalty that keeps to limits as far as they can be kept to.

        Otherwise a motion within its limits leaves them for a cost whose multipliers are not known
        yet, and comes back slowly. Where ten times the penalty hardly helps, the largest one says
        whether any would.

        Source: Byrd, Nocedal, Waltz 2008, "Steering exact penalty methods", in short.
        """
        found = self._answered(model, excess, depth)
        attainable: float | None = None
        while found and found.over > _EXCESS and self.penalty < self.settings.penalty_max:
            begun = self.penalty
            self.penalty = min(_MORE * begun, self.settings.penalty_max)
            more = self._answered(model, excess, depth)
            if more and more.over > _HELPS * found.over:
                if attainable is None:
                    attainable = self._attainable(model, excess, depth)
                if attainable > _HELPS * found.over:
                    more = None
            if more is None:
                self.penalty = begun
                break
            found = more
        return found

    def _attainable(self, model: Reduced, excess: np.ndarray, depth: np.ndarray) -> float:
        """What rows exceed with the largest penalty."""
        penalty, self.penalty = self.penalty, self.settings.penalty_max
        found = self._answered(model, excess, depth)
        self.penalty = penalty
        return np.inf if found is None else found.over

    def _answered(self, model: Reduced, excess: np.ndarray, depth: np.ndarray) -> _Answered | None:
        """A QP with the present penalty, and its answer; None: there is none."""
        asked = self._subproblem(model, excess, depth)
        answer = self.answers.of(asked.qp)
        if answer is None:
            return None
        p = len(model.gradient)
        return _Answered(asked, answer, float(answer.x[p : p + len(asked.near[0])].sum()))

    def _hold(self, model: Reduced, x: np.ndarray, y: np.ndarray, trusted: np.ndarray) -> None:
        """Find the limits that hold a step: those with more of a multiplier than room."""
        most = max(float(np.abs(y).max()), float(self.multipliers[0].max(initial=0.0)), 1e-300)
        free = self.variables.free
        there = self.variables.of(self.trial)[free] + x
        room = np.minimum(there - self.variables.low[free], self.variables.high[free] - there)
        bounds = ~trusted & (np.abs(y) / most > np.maximum(room, 0.0) / self.radius + 1e-6)
        left = np.maximum(-(self.variables.excess(self.trial) + model.rows @ x), 0.0)
        rows = self.multipliers[0] / most > left / self.radius + 1e-6
        self.held = bounds, rows

    def _approximate(self) -> None:
        pull, press = (each / self.scale for each in self.multipliers)
        self.model = reduce(self.problem, self.variables, self.trial, pull, press, self.held)

    def _subproblem(self, model: Reduced, excess: np.ndarray, depth: np.ndarray) -> _Subproblem:
        """QP of a step. Variables: changes of the independent ones, then s >= 0, what rows exceed.

        Args:
            model: The model.
            excess: Of the limits' rows where nothing changes, shape (q,).
            depth: Of points, too, shape (h,).
        """
        p, radius = len(model.gradient), self.radius
        hard = np.flatnonzero(excess + np.abs(model.rows).sum(axis=1) * radius > 0.0)
        deep = np.flatnonzero(depth + np.abs(model.depth_slope).sum(axis=1) * radius > 0.0)
        slope = np.vstack((model.rows[hard], model.depth_slope[deep]))
        weight = np.concatenate(
            (np.full(len(hard), self.penalty), self.scale * model.depth_weight[deep])
        )
        q, free = len(slope), self.variables.free
        here = self.variables.of(self.trial)[free]
        low = np.minimum(self.variables.low[free] - here, 0.0)
        high = np.maximum(self.variables.high[free] - here, 0.0)
        H = np.zeros((p + q, p + q))
        H[:p, :p] = self.scale * model.hessian
        none = np.full(q, np.inf)
        qp = SparseQP(
            H=scipy.sparse.csc_array(H),
            g=np.concatenate((self.scale * model.gradient, weight)),
            A=scipy.sparse.csc_array(np.hstack((slope, -np.eye(q)))),
            lower=np.concatenate((np.maximum(low, -radius), np.zeros(q), -none)),
            upper=np.concatenate((np.minimum(high, radius), none, -excess[hard], -depth[deep])),
        )
        return _Subproblem(qp, (hard, deep), np.array([low < -radius, high > radius]))

    def _take(self, model: Reduced, x: np.ndarray, predicted: float) -> bool:
        """Accept the step x if the merit decreases; then choose the trust region."""
        merit = self.merit
        noise = rounding(merit)
        there = self._stepped(self.trial, model.basis @ x)
        if there is not None and merit - self._merit(there) < 0.75 * predicted:
            there = self._corrected(model, x, there)
        actual = -np.inf if there is None else merit - self._merit(there)
        far = float(np.abs(x).max())
        self.radius = next_radius(
            self.radius,
            far,
            actual=actual,
            predicted=predicted,
            noise=noise,
            most=self.settings.radius_max,
        )
        accepted = bool(actual >= 0.1 * predicted - noise and actual >= -noise)
        if accepted and there is not None:
            self.trial = there
            if not self.converged:
                self._approximate()
        if self.balanced:
            self.costs.append(self.trial.cost)
        else:
            self.costs.clear()
        return accepted

    def _stepped(self, trial: Trial, x: np.ndarray) -> Trial | None:
        """The motion in balance near a trial changed by x, shape (n,)."""
        moved = self.variables.moved(self.problem, trial, x)
        return in_balance(self.problem, self.variables, moved, self.settings.defect)

    def _corrected(self, model: Reduced, x: np.ndarray, there: Trial) -> Trial:
        """A second-order correction of a step: the QP with what rows are at its end, if better.

        Without it, steps along a limit that bends are cut short (Maratos 1978).
        """
        excess = self.variables.excess(there) - model.rows @ x
        depth = there.depth - model.depth_slope @ x
        answer = self.answers.of(self._subproblem(model, excess, depth).qp)
        if answer is None:
            return there
        bent = self._stepped(there, model.basis @ (answer.x[: len(x)] - x))
        return bent if bent is not None and self._merit(bent) < self._merit(there) else there

    def _decrease(self, model: Reduced, x: np.ndarray) -> float:
        """Predicted decrease of the merit for changes x, shape (p,)."""
        smooth = model.gradient @ x + 0.5 * x @ model.hessian @ x
        here = self.variables.excess(self.trial)
        beyond = _above(here + model.rows @ x).sum() - _above(here).sum()
        deeper = _above(model.depth + model.depth_slope @ x) - _above(model.depth)
        return -float(self.scale * (smooth + model.depth_weight @ deeper) + self.penalty * beyond)

    def _merit(self, trial: Trial) -> float:
        beyond = float(_above(self.variables.excess(trial)).sum())
        value = self.scale * trial.cost + self.penalty * beyond
        return value if np.isfinite(value) else np.inf

    def _weigh(self, predicted: float) -> None:
        """Keep the penalty above the multipliers, not far; raise it where limits require it."""
        multiplier = float(self.multipliers[0].max(initial=0.0))
        if multiplier < 0.99 * self.penalty:
            self.penalty = float(
                np.clip(self.penalty, 2.0 * multiplier, _MARGIN * multiplier + _LEAST)
            )
        elif not self.balanced:
            self.penalty *= 4.0
            if predicted <= 1e-6 * max(1.0, abs(self.merit)):
                self.radius = max(self.radius, self.settings.radius)


def _above(value: np.ndarray) -> np.ndarray:
    return np.maximum(value, 0.0)


def _spread(
    y: np.ndarray, near: tuple[np.ndarray, np.ndarray], sizes: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Multipliers of all rows and depths, from those that were near."""
    whole = np.zeros(sizes[0]), np.zeros(sizes[1])
    whole[0][near[0]] = np.maximum(y[: len(near[0])], 0.0)
    whole[1][near[1]] = np.maximum(y[len(near[0]) : len(near[0]) + len(near[1])], 0.0)
    return whole
