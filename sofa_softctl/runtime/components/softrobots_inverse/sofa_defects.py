"""Defects of SoftRobots.Inverse in limits and idle actuators, for `keeps_sofa_defects`.

The rules are inferred from its results, not derived from its code.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.qpcc.problem.problem import InverseProblem

UNREAD = ("maxPressureVariation",)
"""Data of limits that it does not read."""


def push_idle_actuators(problem: InverseProblem, effort: np.ndarray) -> np.ndarray:
    """Return efforts, where idle actuators have the smallest effort, or 1 below the largest."""
    p = problem
    is_active = p.W_ea.any(axis=0) | (p.W_ea.any() & p.W_aa.any(axis=0))
    is_imposed = ~np.isnan(p.effort_fixed) | ~np.isnan(p.displacement_fixed)
    has_default = np.isfinite(p.effort_max) & np.isinf(p.displacement_max).all()
    idle_effort = np.where(has_default, np.minimum(1.0, p.effort_max), effort)
    idle_effort = np.where(np.isfinite(p.effort_min), p.effort_min, idle_effort)
    return np.where(is_active | is_imposed, effort, idle_effort)


def drop_far_limits(limits: dict[str, np.ndarray]) -> None:
    """Replace limits that are further away than the largest change by the change, in place."""
    for quantity in ("effort", "displacement"):
        rate, previous = limits[f"{quantity}_rate"], limits[f"{quantity}_previous"]
        for end, sign in (("min", -1.0), ("max", 1.0)):
            bound = limits[f"{quantity}_{end}"]
            is_far = np.isfinite(rate) & (np.abs(bound - previous) >= rate)
            bound[is_far] = (previous + sign * rate)[is_far]
        rate[:] = np.inf
