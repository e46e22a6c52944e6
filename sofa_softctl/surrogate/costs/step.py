"""Steps of the projected dynamics by Newton's method.

Steps of the projected dynamics for many robots at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.status import Status
from sofa_softctl.surrogate.costs.dynamics import Dynamics, LinearisedDynamics, Steps
from sofa_softctl.surrogate.grid.embedding import Jet

CONDITION_MAX = 1e10
"""Condition of x_a^T M x_a above which the message notes that some change of a moves little
mass."""

_SHORTEST = 2.0**-40  # of a Newton step, in the line search
_JUMP_WITHIN = 1e-6  # a change of a [-] over which only a jump changes the residual by half


_AT_BORDER = (
    "The map's gradient jumps at a border between two cells, and the residual with it, past "
    "zero: the smaller of the two residuals was taken. A finer grid makes it smaller."
)
_NOT_CONVERGED = (
    "Newton's method found no balance: this is the smallest residual it reached. "
    "Try a smaller dt, or a start closer to the answer."
)


@dataclass(frozen=True, eq=False)
class StepResult:
    """Result of a step."""

    a: np.ndarray
    """Coordinates after the step [-], shape (d,)."""
    status: Status
    """Solved, or not converged."""
    at_border: bool
    """Whether the residual jumps past zero between two cells, so that the step is not solved."""
    defect: float
    """Residual |r| over `Dynamics.unit`; for cables, the missing tension over `force` [-]."""
    iterations: int
    """Newton iterations."""
    condition: float
    """Condition number of x_a^T M x_a after the step [-]."""
    message: str
    """Message; empty if all went well."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """Result of simulated steps."""

    a: np.ndarray
    """Coordinates [-], shape (K, d), the initial ones first."""
    status: Status
    """Worst status of the steps."""
    defect: np.ndarray
    """Defect of each step [-], shape (K - 1,)."""
    borders: int
    """Number of steps that ended at a border between cells."""
    condition: float
    """Largest condition number of x_a^T M x_a [-]."""
    message: str
    """Messages of the steps that have one, with their numbers."""


def step(
    dynamics: Dynamics,
    a: np.ndarray,
    a_before: np.ndarray,
    u: np.ndarray,
    *,
    guess: np.ndarray | None = None,
    tolerance: float = 1e-10,
    iterations: int = 60,
) -> StepResult:
    """Solve an implicit Euler step r(a+, a, a-, u) = 0 by Newton's method with line search.

    Args:
        dynamics: Projected dynamics.
        a: Present coordinates [-], shape (d,).
        a_before: Coordinates a step earlier; a itself for a robot at rest.
        u: Inputs during the step, shape (m,); for cables, tensions over `force` [-].
        guess: Initial guess; by default a.
        tolerance: Largest defect [-] of a solved step, on top of rounding.
        iterations: Maximum number of Newton iterations.

    Returns:
        Step, with `status`, `defect` and `message`.
    """
    jets = dynamics.embedding.at(np.array([a, a_before], float))
    newton = _Newton(dynamics, np.asarray(a, float), np.asarray(u, float), jets)
    point = newton.evaluate(np.array(a if guess is None else guess, float))
    status, at_border, count = Status.NOT_CONVERGED, False, 0
    for count in range(iterations + 1):
        if point.norm <= tolerance * dynamics.unit + newton.rounding(point):
            status = Status.SOLVED
            break
        if count == iterations:
            break
        further, jumps = newton.search(point)
        point = further or point
        at_border = bool(jumps)
        if at_border or further is None:
            break
    condition = float(np.linalg.cond(newton.linearise(point).mass[0]))
    message = "" if status.ok else _AT_BORDER if at_border else _NOT_CONVERGED
    if condition > CONDITION_MAX:
        message += f" Some change of a hardly moves mass: condition {condition:.1e}."
    defect = point.norm / dynamics.unit
    return StepResult(point.a, status, at_border, defect, count, condition, message.strip())


def simulate(
    dynamics: Dynamics,
    u: np.ndarray,
    a: np.ndarray,
    a_before: np.ndarray | None = None,
    *,
    tolerance: float = 1e-10,
) -> Simulation:
    """Simulate steps under inputs u, shape (K - 1, m).

    The simulation starts from a, shape (d,), at rest unless `a_before` is given. Failed steps do
    not end it; `message` lists them.
    """
    current = np.array(a, float)
    previous = current if a_before is None else np.array(a_before, float)
    steps: list[StepResult] = []
    for inputs in u:
        steps.append(step(dynamics, current, previous, inputs, tolerance=tolerance))
        current, previous = steps[-1].a, current
    messages = [f"Step {k}: {result.message}" for k, result in enumerate(steps) if result.message]
    return Simulation(
        a=np.array([np.array(a, float), *(result.a for result in steps)]),
        status=Status.worst(result.status for result in steps),
        defect=np.array([result.defect for result in steps]),
        borders=sum(result.at_border for result in steps),
        condition=max((result.condition for result in steps), default=0.0),
        message="\n".join(messages),
    )


@dataclass(frozen=True, eq=False)
class _TrialPoint:
    """Residual at a trial point."""

    a: np.ndarray  # (d,)
    jet: Jet  # one point
    r: np.ndarray  # (d,)
    norm: float


class _Newton:
    """Equation of one step."""

    def __init__(self, dynamics: Dynamics, a: np.ndarray, u: np.ndarray, jets: Jet):
        self.dynamics, self.a, self.u = dynamics, a[None], u[None]
        self.now, self.before = jets[0:1], jets[1:2]

    def evaluate(self, a: np.ndarray) -> _TrialPoint:
        jet = self.dynamics.embedding.at(a[None])
        r = self.dynamics.residual(self._steps(a, jet))[0]
        return _TrialPoint(a, jet, r, float(np.linalg.norm(r)))

    def linearise(self, point: _TrialPoint) -> LinearisedDynamics:
        return self.dynamics.linearise(self._steps(point.a, point.jet))

    def _steps(self, a: np.ndarray, jet: Jet) -> Steps:
        return Steps(a[None], self.a, self.u, jet, self.now, self.before)

    def rounding(self, point: _TrialPoint) -> float:
        return 8.0 * float(self.dynamics.rounding(point.jet, self.now, self.before)[0])

    def search(self, point: _TrialPoint) -> tuple[_TrialPoint | None, bool]:
        """Return a point of smaller residual along Newton's direction or None, and if it jumps.

        Within a cell the residual decreases along that direction, so Newton's method approaches a
        border behind which the residual is larger.
        """
        direction = np.linalg.lstsq(self.linearise(point).by_next[0], -point.r)[0]
        t, jumps = 1.0, False
        while t >= _SHORTEST:
            trial = self.evaluate(point.a + t * direction)
            if trial.norm <= (1.0 - 1e-4 * t) * point.norm:
                return trial, jumps
            if t * np.abs(direction).max() <= _JUMP_WITHIN:
                jumps |= bool(np.linalg.norm(trial.r - (1.0 - t) * point.r) > 0.5 * point.norm)
            t *= 0.5
        return None, jumps


def step_many(
    dynamics: Dynamics,
    a: np.ndarray,
    now: Jet,
    before: Jet,
    u: np.ndarray,
    *,
    guess: np.ndarray | None = None,
    tolerance: float = 1e-9,
) -> tuple[np.ndarray, Jet, np.ndarray]:
    """Solve an implicit Euler step of m robots by Newton's method without line search.

    Args:
        dynamics: The projected dynamics, on a map that is smooth.
        a: Present coordinates [-], shape (m, d).
        now: Map at the present coordinates.
        before: Map one step earlier.
        u: Inputs during the step, shape (m, n_u).
        guess: Initial guess [-], shape (m, d); by default a.
        tolerance: Largest defect of a solved step [-], on top of rounding; see `StepResult`.

    Returns:
        Coordinates after the step, the map there, and a mask of solved steps, shape (m,), False if
        the map has no value.
    """
    after = np.array(a if guess is None else guess, float)
    ahead = dynamics.embedding.at(after)
    solved = np.zeros(len(a), bool)
    rows = np.flatnonzero(np.isfinite(ahead.value[:, 0]))
    allowed = tolerance * dynamics.unit
    iterations_max = 15  # from rest, three are enough
    for iteration in range(iterations_max + 1):
        rows_now, rows_before, rows_ahead = (_rows(jet, rows) for jet in (now, before, ahead))
        steps = Steps(after[rows], a[rows], u[rows], rows_ahead, rows_now, rows_before)
        size = np.linalg.norm(dynamics.residual(steps), axis=1)
        is_solved = size <= allowed + 8.0 * dynamics.rounding(rows_ahead, rows_now, rows_before)
        solved[rows[is_solved]] = True
        if is_solved.all() or iteration == iterations_max:
            break
        remaining = np.flatnonzero(~is_solved)
        rows = rows[remaining]
        jets = (_rows(jet, remaining) for jet in (rows_ahead, rows_now, rows_before))
        linearised = dynamics.linearise(Steps(after[rows], a[rows], u[rows], *jets))
        change = np.linalg.solve(linearised.by_next, -linearised.residual[..., None])[..., 0]
        after[rows] += change
        new_jet = dynamics.embedding.at(after[rows])
        ahead.value[rows], ahead.gradient[rows] = new_jet.value, new_jet.gradient
        rows = rows[np.isfinite(new_jet.value[:, 0])]
    return after, ahead, solved


def _rows(jet: Jet, rows: np.ndarray) -> Jet:
    """Return a copy of the jet at some of the points."""
    return Jet(jet.value[rows], jet.gradient[rows])
