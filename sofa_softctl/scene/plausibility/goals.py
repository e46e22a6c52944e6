"""Goals too far away to be meant."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.scene.body import body_of
from sofa_softctl.scene.plausibility.bodies import point

FAR = 5.0
"""A goal further from its effector than so many sizes of the robot is warned of."""
FACTORS = (1e3, 1e2, 1e1, 1e-1, 1e-2, 1e-3)
"""Between units of length that are mistaken for each other."""
SMALL = 100.0
"""A goal in reach is warned of if so many times it, or more, is beside the effector."""


def far_goal(tip: np.ndarray, goal: np.ndarray, size: float, *, far: float = FAR) -> str | None:
    """What is implausible in a goal; None where nothing is.

    Args:
        tip: Position of the effector [length], shape (3,).
        goal: Its goal [length], shape (3,).
        size: Size of the robot [length].
        far: Sizes of the robot from which on a goal is far.

    Returns:
        Rest of a sentence that begins with the effector.
    """
    distance = float(np.linalg.norm(goal - tip))
    others = {k: float(np.linalg.norm(k * goal - tip)) for k in FACTORS}
    near = [k for k, apart in others.items() if apart < 0.25 * size and apart < 0.25 * distance]
    in_reach = distance <= far * size
    if not size > 0.0 or (in_reach and not (near and near[0] >= SMALL and distance > 0.75 * size)):
        return None
    text = (
        f"is at {point(tip)}, and its goal {point(goal)} is {distance:.4g} away; the robot is "
        f"{size:.4g} long. "
    )
    if near:
        apart = others[near[0]]
        return f"{text}Times {near[0]:g} the goal is {apart:.3g} away: is it in other units?"
    return f"{text}Is the goal, or the mesh, in other units?"


def carried_goal(effector: Any, source: Any) -> str | None:
    """Return a sentence if the body of an effector's node carries its goal along, a Data."""
    state, body = source.getOwner(), body_of(effector)
    carrier = body_of(state.getContext()) if hasattr(state, "getContext") else None
    if body is None or carrier is None or carrier.getPathName() != body.getPathName():
        return None
    if np.shape(body.getMechanicalState().position.value)[1] != 3 or source.getName() != "position":
        return None  # a frame of the robot's base may carry goals
    return (
        f"'{state.getPathName()}' is the goal of effector '{effector.getPathName()}', and on the "
        f"same body, '{body.getPathName()}', which carries the goal along as it moves. Make its "
        "node a child of the root, without a mapping."
    )
