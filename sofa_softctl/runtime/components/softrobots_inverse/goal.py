"""Limit scalar effector goals by maxShiftToTarget and maxSpeed."""

from __future__ import annotations

import math

from sofa_softctl.runtime.behavior.constraint import LagrangianConstraint


def near_goal(effector: LagrangianConstraint, goal: float, now: float) -> float:
    """The goal, brought as near to `now` as maxShiftToTarget and maxSpeed demand.

    Departure from SoftRobots.Inverse: there maxSpeed holds for positions only.
    """
    assert effector._context is not None
    data, reach = effector._data, math.inf
    if data["limitShiftToTarget"].get():
        reach = data["maxShiftToTarget"].get()
    if data["maxSpeed"].isSet():
        reach = min(reach, data["maxSpeed"].get() * effector._context._data["dt"].get())
    return min(max(goal, now - reach), now + reach)
