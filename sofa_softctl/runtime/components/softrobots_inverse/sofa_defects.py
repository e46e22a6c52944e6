"""Defects of SoftRobots.Inverse in limits and idle actuators, for `keeps_sofa_defects`.

The rules were read off its results, not derived from its code.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.qpcc.problem.problem import InverseProblem


def push_idle_actuators(problem: InverseProblem, effort: np.ndarray) -> np.ndarray:
    """Return efforts of which those that move no effector are the least, or 1 below a greatest."""
    p = problem
    moves = p.W_ea.any(axis=0) | (p.W_ea.any() & p.W_aa.any(axis=0))
    given = ~np.isnan(p.effort_fixed) | ~np.isnan(p.displacement_fixed)
    below = np.isfinite(p.effort_max) & np.isinf(p.displacement_max).all()
    least = np.where(below, np.minimum(1.0, p.effort_max), effort)
    least = np.where(np.isfinite(p.effort_min), p.effort_min, least)
    return np.where(moves | given, effort, least)


def drop_far_limits(limits: dict[str, np.ndarray]) -> None:
    """Put the greatest change in the place of limits that are farther than it."""
    for quantity in ("effort", "displacement"):
        rate = limits.pop(f"{quantity}_rate", None)
        if rate is None:
            continue
        previous = limits.pop(f"{quantity}_previous")
        for end, sign in (("min", -1.0), ("max", 1.0)):
            bound = limits[f"{quantity}_{end}"]
            is_far = np.isfinite(rate) & (np.abs(bound - previous) >= rate)
            limits[f"{quantity}_{end}"] = np.where(is_far, previous + sign * rate, bound)
