"""Goals of inverse control that are implausible as the scene starts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sofa_softctl.inverse.goals.function import has_state
from sofa_softctl.scene.body import body_size
from sofa_softctl.scene.plausibility.goals import FAR, far_goal

LED = 20.0
"""With a `goal_distance`, goals may be so many times `FAR` away: the robot travels."""
TOLERANCE_MAX = 0.2
"""Tolerance of goals by the size of the robot, above which it judges nothing [-]."""
LATER = 37
"""Steps after which a goal is looked at again, to see whether it moves."""
AT_GOAL, LEFT_OUT = 1e-3, 0.05
"""Distances along axes that count, and that do not, by the size of the robot, with which a goal
lies along the wrong ones [-]."""
STEPS = 10
"""A period of a goal has at least so many steps."""


def goal_warnings(controller: Any) -> list[str]:
    """Sentences on goals far from their effectors, and on periods that are a few steps.

    Goals with a state are not asked for. One that raises is left to the first step.
    """
    found = []
    goal, dt = controller.goal_function, float(controller.dt.value)
    period = getattr(goal, "period", math.inf)
    if isinstance(period, int | float) and period < STEPS * dt:
        found.append(
            f"the goal goes round in {period:g}, which is {period / dt:.3g} steps of dt={dt:g}. "
            "Is the period, or dt, in other units?"
        )
    if not np.any(controller.weight):
        found.append(
            "all entries of 'weight' are 0, so that no goal counts and the robot need not move. "
            "Give a positive weight to the directions that are to be reached."
        )
    if has_state(goal):
        return found
    try:
        time = float(controller.time.value) + dt
        goals = controller.goals_at(time)
        is_constant = np.array_equal(goals, controller.goals_at(time + LATER * dt))
    except Exception:  # the user's own code, or a wrong shape: the first step says it
        return found
    far = FAR if controller.goal_distance == math.inf else LED * FAR
    for rows, weight, place in zip(
        controller.effectors, controller.weight.reshape(-1, 3), goals, strict=True
    ):
        node = rows[0].getContext()
        tip = np.array(node.getMechanicalState().position.value)[int(rows[0].indices.value[0]), :3]
        wanted = np.where(weight > 0.0, place, tip)
        left_out = np.where(weight > 0.0, 0.0, place - tip)
        size = body_size(node)
        if is_constant and weight.any() and np.linalg.norm(wanted - tip) < AT_GOAL * size:
            if np.linalg.norm(left_out) > LEFT_OUT * size:
                found.append(
                    f"effector '{node.getPathName()}' is at its goal along the axes that count, "
                    f"and {np.linalg.norm(left_out):.4g} from it along those whose weight is 0, so "
                    "that nothing need move. Give these a weight, or leave 'weight' out."
                )
        tolerances: Any = controller.goal_tolerance
        tolerances = [] if tolerances is None else np.ravel(tolerances)
        for tolerance in (t for t in tolerances if TOLERANCE_MAX * size < t < math.inf):
            found.append(
                f"goal_tolerance={tolerance:g}, and the robot is {size:.4g} long: nearly "
                "everything counts as reached. Give 1 % of its size, say."
            )
        text = far_goal(tip, wanted, body_size(node), far=far)
        if text is not None:
            found.append(f"effector '{node.getPathName()}' {text}")
    return found
