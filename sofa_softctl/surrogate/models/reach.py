"""Static test of reach: a goal that no shape of the robot reaches is refused before planning.

Every shape of a plan is an equilibrium x(a) with coordinates a within their limits, in motion too.
So a goal is out of reach, whatever time a plan has, if min_a |p(a) - goal| exceeds its tolerance.
Bounded Gauss-Newton steps on the exact map search for the minimum, from several starts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import lsq_linear

from sofa_softctl.base.time_limit import check_time
from sofa_softctl.errors import MapError, ReachError
from sofa_softctl.surrogate.costs.costs import Following
from sofa_softctl.surrogate.grid.evaluation import Neighbour
from sofa_softctl.surrogate.models.robot import PlannedRobot
from sofa_softctl.surrogate.planning.planner import Plan
from sofa_softctl.surrogate.program.transcription import PlanningProblem

_COORDINATE_TOLERANCE = 1e-6  # of a step that ends the search
_STEPS_MAX = 15  # from each start
_STEP_FRACTION_MIN = 0.1  # of a Gauss-Newton step, which is halved while it leads farther away
_GAIN_MIN = 0.05  # of the distance to the goal's tolerance, by which each step must come nearer


def check_reach(robot: PlannedRobot, problem: PlanningProblem, guess: Plan | None = None) -> None:
    """Check that the robot can reach goals: the farthest from the start, and the last one.

    Goals without a tolerance, and goals that only lead to main ones, are not checked.

    Args:
        robot: The robot.
        problem: Planning problem of the robot.
        guess: Plan whose coordinates the search begins at, such as from `rehearse`; by default at
            the start of the problem.

    Raises:
        ReachError: No shape within the limits of coordinates reaches a goal.
        TimeLimitError: The time limit was reached.
    """
    for term in problem.outputs:
        if not isinstance(term, Following) or not np.isfinite(term.tolerance):
            continue
        main = np.flatnonzero(term.main)
        if not len(main):
            continue
        goals = np.where(term.free, 0.0, term.goal)
        farthest = main[np.linalg.norm(goals[main] - goals[0], axis=1).argmax()]
        is_last = np.linalg.norm(goals[farthest] - goals[main[-1]]) <= term.tolerance
        for instant in (main[-1],) if is_last else (farthest, main[-1]):
            starts = [problem.a_first] if guess is None else [guess.a[instant], problem.a_first]
            _check_goal(_Goal(robot, term, int(instant)), problem, starts)


def _check_goal(goal: _Goal, problem: PlanningProblem, starts: list[np.ndarray]) -> None:
    tensions = [limits.max(axis=0) for limits in problem.input_bounds]
    low, high = (limits.max(axis=0) for limits in problem.state_bounds)
    in_motion = f" (beyond {_ranges(*tensions)} in motion only)"
    if problem.rest and goal.instant == problem.instants - 1:  # then coordinates are tensions
        (low, high), in_motion = tensions, ""
    nearest, distance_min = np.full(3, np.nan), np.inf
    goal.solve(problem.a_first)  # the nearest to rest, from which all others continue
    for start in (*starts, 0.5 * (low + high)):
        for position, distance in goal.approach(np.clip(start, low, high), low, high):
            if distance <= goal.tolerance:
                return
            if distance < distance_min:
                nearest, distance_min = position, distance
    if np.isfinite(distance_min):
        raise ReachError(
            f"the goal {_row(goal.position)} of instant {goal.instant + 1} is out of reach: with "
            f"coordinates from {_ranges(low, high)}{in_motion} the robot comes no nearer than "
            f"{_row(nearest)}, {distance_min:.3g} away; {goal.tolerance:.3g} is allowed. Move the "
            "goal, raise u_max or reach, or ask for a plan that comes as near as it can, with "
            "--closest or closest=True."
        )


class _Goal:
    """Goal of one instant, and the way to it over equilibria of the exact map."""

    def __init__(self, robot: PlannedRobot, term: Following, instant: int) -> None:
        self.position, self.tolerance, self.instant = term.goal[instant], term.tolerance, instant
        self._map, self._probe, self._axes = robot.map, term.probe, ~term.free
        # The layout of a grid has no rows of nodes, the exact map's has.
        first = robot.map.layout.length.start - robot.dynamics.layout.length.start
        self._rows = [row + first for row in term.rows]
        self._known: list[Neighbour] = []

    def approach(
        self, a: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> Iterator[tuple[np.ndarray, float]]:
        """Yield positions (3,) and distances [length] of Gauss-Newton steps within limits."""
        position, slope = self.solve(a)
        distance = self._distance(position)
        for _ in range(_STEPS_MAX):
            if not np.isfinite(distance):
                return
            yield position, distance
            residual = (self.position - position)[self._axes]
            step = lsq_linear(slope[self._axes], residual, (low - a, high - a)).x
            fraction, before = 1.0, distance
            if np.abs(step).max() <= _COORDINATE_TOLERANCE:
                return
            while fraction >= _STEP_FRACTION_MIN:
                next_a = np.clip(a + fraction * step, low, high)
                position, slope = self.solve(next_a)
                distance = self._distance(position)
                if distance < before:
                    break
                fraction *= 0.5
            if not before - distance > _GAIN_MIN * (before - self.tolerance):
                break
            a = next_a
        yield position, distance

    def _distance(self, position: np.ndarray) -> float:
        return float(np.linalg.norm((position - self.position)[self._axes]))

    def solve(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the point at coordinates a (d,) and its derivative; NaN without a shape."""
        check_time()
        nearest = min(self._known, key=lambda known: np.linalg.norm(known.u - a), default=None)
        try:
            sample = self._map(a, nearest)
        except MapError:
            return np.full(3, np.nan), np.full((3, len(a)), np.nan)
        self._known.append(Neighbour(a, sample))
        position, by_outputs = self._probe.locate(sample.value[None, self._rows])
        return position[0], by_outputs[0] @ sample.gradient[self._rows]


def _ranges(low: np.ndarray, high: np.ndarray) -> str:
    """Return the different ranges of coordinates as a text."""
    ranges = {f"{a:.4g} to {b:.4g}": None for a, b in zip(low, high, strict=True)}
    return " and ".join(ranges)


def _row(values: np.ndarray) -> str:
    return "[" + ", ".join(f"{value:.4g}" for value in np.round(values, 6)) + "]"
