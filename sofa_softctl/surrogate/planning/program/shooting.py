"""Sequential quadratic programming on the inputs alone, with exact Hessians."""

from __future__ import annotations

from collections import deque

import numpy as np
import scipy.sparse

from sofa_softctl.qp.problem import QPResult, SparseQP
from sofa_softctl.qp.verified import solve_checked
from sofa_softctl.surrogate.planning.program.condensing import (
    Condensed,
    HardRows,
    condense,
    in_balance,
    simulated,
)
from sofa_softctl.surrogate.planning.program.settings import Settings
from sofa_softctl.surrogate.planning.program.subproblem import rates, room
from sofa_softctl.surrogate.planning.program.transcription import PlanningProblem, Trial

_TOLERANCE = 1e-6  # largest accepted KKT residual of a QP [-]
_IDLE = 20  # iterations with hardly any gain before the end
_HARDLY = 1e-9  # of the cost, in all of them


class Shooting:
    """Inputs are variables, and each motion is in balance: for costs that do not bend themselves.

    Each iteration solves a QP of the inputs' changes, with the exact Hessian of the Lagrangian
    along motions in balance. Limits of coordinates, rest at the end and obstacles are soft rows:
    their violation costs, of limits and rest a penalty above twice the largest multiplier. A step
    is accepted if costs and penalties decrease by a tenth of the prediction.

    Where a cost is linear, as a distance that is covered, Hessians of costs alone say nothing, and
    `Collocation` creeps. That one is for robots that fall or snap: its motions need not be in
    balance on the way.

    Source: Nocedal and Wright 2006, sections 18.3 on reduced Hessians and 18.5 on penalties.
    """

    def __init__(self, problem: PlanningProblem, trial: Trial, settings: Settings):
        self.problem, self.settings = problem, settings
        self.radius, self.penalty, self.scale = settings.radius, settings.penalty, 1.0
        self.hard = HardRows(problem)
        self.costs: deque[float] = deque(maxlen=_IDLE + 1)
        self.stationarity, self.converged = np.inf, False
        self.notes: dict[str, None] = {}
        self.replaced: list[tuple[str, ...]] = []  # notes of each answer by another solver
        found = in_balance(problem, trial.a, trial.u, settings.defect)
        found = found or simulated(problem, trial.u, settings.defect)
        self.trial = trial if found is None else found
        self.model: Condensed | None = None
        self.multipliers = np.zeros(self.hard.by_a.shape[0]), np.zeros(0)  # of rows, of depths
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
    def fallback(self) -> str:
        """See `Ended`."""
        if not self.replaced:
            return ""
        why, count = " ".join(self.replaced[-1]), len(self.replaced)
        return f"Another QP solver's answer was taken in {count} iterations. The last time: {why}"

    @property
    def balanced(self) -> bool:
        """Whether the motion can be executed."""
        worst = self.hard.values(self.trial.a).max(initial=0.0)
        return bool(max(worst, np.abs(self.trial.lack).max()) <= self.settings.defect)

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
        p = len(self.model.gradient)
        qp, (hard, deep), trusted = self._subproblem(
            self.model, self.hard.values(self.trial.a), self.model.depth
        )
        answer = self._answer(qp)
        if answer is None:
            self.radius *= 0.25
            return False
        x, y = answer.x[:p], answer.y
        self._remember(y[len(qp.g) :], hard, deep)
        self.stationarity = _stationarity(qp, x, y, trusted)
        self.converged = self.balanced and self.stationarity <= self.settings.stationarity
        accepted, predicted = self._take(self.model, x)
        self._weigh(predicted)
        return accepted

    def _approximate(self) -> None:
        of_rows, of_depths = (each / self.scale for each in self.multipliers)
        self.model = condense(self.problem, self.trial, of_rows @ self.hard.by_a, of_depths)

    def _answer(self, qp: SparseQP) -> QPResult | None:
        """A verified answer of a QP solver."""
        found = solve_checked(
            qp, solvers=self.settings.solvers, tolerance=_TOLERANCE, feasible=True
        )
        self.notes.update(dict.fromkeys(found.notes))
        if found.replaced:
            self.replaced.append(found.notes)
        return found.result

    def _subproblem(
        self, model: Condensed, value: np.ndarray, depth: np.ndarray
    ) -> tuple[SparseQP, tuple[np.ndarray, np.ndarray], np.ndarray]:
        """QP of a step. Variables: changes of inputs, then excesses s >= 0 of soft rows in reach.

        Args:
            model: The model.
            value: Of the hard rows where inputs do not change, shape (q,).
            depth: Of points, too, shape (h,).

        Returns:
            The QP, its first rows soft; which hard rows and which depths they are; and which of
            the inputs' bounds below and above are the trust region's, shape (2, p).
        """
        p, radius = len(model.gradient), self.radius
        by_u = self.hard.by_a @ model.a_by_u
        hard = np.flatnonzero(value + np.abs(by_u).sum(axis=1) * radius > 0.0)
        reach = np.abs(model.depth_by_u).sum(axis=1) * radius
        deep = np.flatnonzero(depth + reach > 0.0)
        slope = np.vstack((by_u[hard], model.depth_by_u[deep]))
        q = len(slope)
        u_at = self.problem.columns[0].ravel()
        rate, least, most = rates(self.problem, self.trial)
        low, high = (each[u_at] for each in room(self.problem, self.trial))
        weight = np.concatenate(
            (np.full(len(hard), self.penalty), self.scale * model.depth_weight[deep])
        )
        A = np.block(
            [
                [slope, -np.eye(q)],
                [rate[:, u_at].toarray(), np.zeros((len(least), q))],
            ]
        )
        H = np.zeros((p + q, p + q))
        H[:p, :p] = self.scale * model.hessian
        free = np.full(q, np.inf)
        qp = SparseQP(
            H=scipy.sparse.csc_array(H),
            g=np.concatenate((self.scale * model.gradient, weight)),
            A=scipy.sparse.csc_array(A),
            lower=np.concatenate((np.maximum(low, -radius), np.zeros(q), -free, least)),
            upper=np.concatenate(
                (np.minimum(high, radius), free, -value[hard], -depth[deep], most)
            ),
        )
        return qp, (hard, deep), np.array([low < -radius, high > radius])

    def _take(self, model: Condensed, x: np.ndarray) -> tuple[bool, float]:
        """Accept the step x if the merit decreases; then choose the trust region."""
        problem, trial = self.problem, self.trial
        predicted = self._decrease(model, x)
        merit = self.merit
        noise = 1e-13 * max(1.0, abs(merit))
        a = trial.a.copy()
        a[1:] += (model.a_by_u @ x).reshape(a[1:].shape)
        u = np.clip(trial.u + x.reshape(trial.u.shape), *problem.input_bounds)
        there = in_balance(problem, a, u, self.settings.defect)
        if there is not None and merit - self._merit(there) < 0.75 * predicted:
            there = self._corrected(model, x, there)
        actual = -np.inf if there is None else merit - self._merit(there)
        far = np.abs(x).max()
        if actual < 0.25 * predicted - noise:
            self.radius = 0.25 * min(self.radius, far)
        elif actual > 0.75 * predicted and far > 0.9 * self.radius:
            self.radius = min(2.0 * self.radius, self.settings.radius_max)
        accepted = bool(actual >= 0.1 * predicted - noise and actual >= -noise)
        if accepted and there is not None:
            self.trial = there
            if not self.converged:
                self._approximate()
        if self.balanced:
            self.costs.append(self.trial.cost)
        else:
            self.costs.clear()
        return accepted, predicted

    def _corrected(self, model: Condensed, x: np.ndarray, there: Trial) -> Trial:
        """A second-order correction of a step: the QP with what rows are at its end, if better.

        Without it, steps along a limit that bends are cut short (Maratos 1978).
        """
        value = self.hard.values(there.a) - self.hard.by_a @ (model.a_by_u @ x)
        depth = there.depth - model.depth_by_u @ x
        if len(depth) != len(model.depth):
            return there
        answer = self._answer(self._subproblem(model, value, depth)[0])
        if answer is None:
            return there
        more = answer.x[: len(x)] - x
        a = there.a.copy()
        a[1:] += (model.a_by_u @ more).reshape(a[1:].shape)
        u = np.clip(there.u + more.reshape(there.u.shape), *self.problem.input_bounds)
        bent = in_balance(self.problem, a, u, self.settings.defect)
        return bent if bent is not None and self._merit(bent) < self._merit(there) else there

    def _decrease(self, model: Condensed, x: np.ndarray) -> float:
        """Predicted decrease of the merit for changes x of the inputs, shape (p,)."""
        smooth = self.scale * (model.gradient @ x + 0.5 * x @ model.hessian @ x)
        here = self.hard.values(self.trial.a)
        there = here + self.hard.by_a @ (model.a_by_u @ x)
        beyond = _excess(there).sum() - _excess(here).sum()
        deeper = _excess(model.depth + model.depth_by_u @ x) - _excess(model.depth)
        more = self.penalty * beyond + self.scale * (model.depth_weight @ deeper)
        return -float(smooth + more)

    def _merit(self, trial: Trial) -> float:
        beyond = _excess(self.hard.values(trial.a)).sum()
        value = self.scale * trial.cost + self.penalty * float(beyond)
        return value if np.isfinite(value) else np.inf

    def _remember(self, y: np.ndarray, hard: np.ndarray, deep: np.ndarray) -> None:
        """Keep the multipliers of soft rows for the next Hessian."""
        of_rows, of_depths = np.zeros(self.hard.by_a.shape[0]), np.zeros(len(self.trial.depth))
        of_rows[hard] = np.clip(y[: len(hard)], 0.0, self.penalty)
        if self.model is not None:
            of_depths = np.zeros(len(self.model.depth))
        of_depths[deep] = y[len(hard) : len(hard) + len(deep)]
        self.multipliers = of_rows, of_depths

    def _weigh(self, predicted: float) -> None:
        """Keep the penalty above the multipliers; raise it where limits require it."""
        multiplier = float(self.multipliers[0].max(initial=0.0))
        if multiplier < 0.99 * self.penalty:
            self.penalty = max(self.penalty, 2.0 * multiplier)
        elif not self.balanced and predicted <= 1e-6 * max(1.0, self.merit):
            self.penalty *= 10.0
            self.radius = max(self.radius, self.settings.radius)


def _excess(value: np.ndarray) -> np.ndarray:
    return np.maximum(value, 0.0)


def _stationarity(qp: SparseQP, x: np.ndarray, y: np.ndarray, trusted: np.ndarray) -> float:
    """Distance of the QP's multipliers from those of an optimum at x = 0.

    They satisfy the QP's conditions at x. Those of the problem at 0 lack H x and the multipliers of
    the trust region; and a limit that is reached only at x must not have a multiplier.
    """
    p = len(x)
    beyond = np.where(trusted[0], np.minimum(y[:p], 0.0), 0.0)
    beyond += np.where(trusted[1], np.maximum(y[:p], 0.0), 0.0)
    slope = qp.H[:p, :p] @ x + beyond
    limits = np.minimum(np.abs(y[:p] - beyond), np.abs(x))
    rows = np.minimum(np.abs(y[len(qp.g) :]), np.abs(qp.A[:, :p] @ x))
    return float(max(np.abs(slope).max(), limits.max(), rows.max(initial=0.0)))
