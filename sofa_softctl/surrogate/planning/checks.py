"""What cannot be planned, found before planning: limits, start and goals."""

from __future__ import annotations

import numpy as np

from sofa_softctl.surrogate.planning.costs import Following
from sofa_softctl.surrogate.planning.obstacles.collisions import obstacle_name
from sofa_softctl.surrogate.planning.program.transcription import PlanningProblem, Trial

_ROUNDING = 1e-9  # of coordinates and tensions of the order of 1


def check_limits(problem: PlanningProblem) -> None:
    """Check that the limits leave a motion.

    Raises:
        ValueError: limits that are NaN or contradict each other or the start.
    """
    limits, steps = problem.limits, problem.instants - 1
    for name in ("u_max", "u_min", "rate", "a_min", "a_max"):
        given = np.asarray(getattr(limits, name), float)
        d, what = (problem.d, "coordinates") if name[0] == "a" else (problem.m, "inputs")
        if given.shape not in ((), (d,), (steps, d)) or np.isnan(given).any():
            raise ValueError(f"limits: {name} must be a number, or one for each of {d} {what}, "
                             "in each step if they change. "
                             f"Got: {getattr(limits, name)}")  # fmt: skip
    if not np.all(np.asarray(limits.rate) > 0.0):
        raise ValueError(f"limits: rate must be positive. Got: {limits.rate}")
    if np.any(np.asarray(limits.a_min) > np.asarray(limits.a_max)):
        raise ValueError(f"limits: a_min is above a_max. Got: {limits.a_min} and {limits.a_max}")
    low, high = problem.state_bounds
    first, whole = problem.a_first, np.shape(limits.a_min) != (steps, problem.d)
    outside = np.any(first < low[0] - _ROUNDING) or np.any(first > high[0] + _ROUNDING)
    if whole and outside:
        raise ValueError(
            f"the start a_first = {_row(first)} is outside the limits of coordinates, from "
            f"{_row(low[0])} to {_row(high[0])}. Widen them (`reach`), or start inside."
        )
    if problem.u_before is not None:
        low, high = problem.input_bounds
        change = np.abs(np.clip(problem.u_before, low[0], high[0]) - problem.u_before)
        most = np.asarray(limits.rate) * problem.dynamics.dt
        if np.any(change > most + _ROUNDING):
            raise ValueError(
                f"limits: inputs u_before = {_row(problem.u_before)} are outside their limits, "
                f"from {_row(low[0])} to {_row(high[0])}, by up to {change.max():.3g}, and the "
                f"rate allows a change of {np.min(most):.3g} in a step. Widen the limits, raise "
                "the rate, or start from other inputs."
            )


def check_places(problem: PlanningProblem, start: Trial) -> None:
    """Check that neither the start nor all main goals are inside an obstacle.

    Goals that only lead the way to main ones may be inside: see `Following.main`.

    Raises:
        ValueError: they are.
    """
    for number, obstacle in enumerate(problem.obstacles, 1):
        p = obstacle.probe.locate(start.y[:1, list(obstacle.rows)])[0]
        depth = -float(obstacle.shape.distance(p)[0][0])
        if depth > _ROUNDING * max(1.0, float(np.abs(p).max())):
            raise ValueError(
                f"the start {_row(p[0])} is {depth:.3g} inside "
                f"{obstacle_name(number, obstacle.shape)}. Move the obstacle, or start elsewhere."
            )
    for term in problem.outputs:
        if not isinstance(term, Following):
            continue
        main = term.main
        for number, obstacle in enumerate(problem.obstacles, 1):
            depths = -obstacle.shape.distance(term.goal)[0]
            if obstacle.probe == term.probe and main.any() and (depths[main] > 0.0).all():
                last = int(np.flatnonzero(main)[-1])
                raise ValueError(
                    f"the goals are inside {obstacle_name(number, obstacle.shape)}: the last one, "
                    f"{_row(term.goal[last])}, by {depths[last]:.3g}. Move the goals or the "
                    "obstacle."
                )


def _row(values: np.ndarray) -> str:
    return "[" + ", ".join(f"{value:.4g}" for value in np.atleast_1d(values)) + "]"
