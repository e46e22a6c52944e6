"""Goals as functions of time, and goals that look like mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.control import options
from sofa_softctl.scene.control.options import as_floats, shown
from sofa_softctl.scene.graph.nodes import body_of, body_size
from sofa_softctl.scene.plausibility.bodies import carried_goal, point
from sofa_softctl.scene.plausibility.holding import fixed_nodes


def as_function(goal: Callable[[float], Any] | Sequence[float] | np.ndarray) -> Any:
    """The goal as a function of time; a given one as it is."""
    if callable(goal):
        return goal
    fixed = np.array(goal, dtype=float)
    return lambda time: fixed


def has_state(goal: Any) -> bool:
    """Whether a function of time has a state to save."""
    return hasattr(goal, "snapshot") and hasattr(goal, "restore")


def goals_at(goal: Callable[[float], Any], time: float, effectors: int, owner: str) -> np.ndarray:
    """Goal of each effector at a time [length], shape (n_e, 3).

    Args:
        goal: Function of time.
        time: The time.
        effectors: Number of effectors, n_e.
        owner: Path of the controller, for the message.

    Raises:
        SceneError: The goal is not finite, or of another shape.
    """
    given = goal(time)
    numbers = as_floats(given)
    if numbers is not None:
        found = np.atleast_2d(numbers)
        if found.shape == (effectors, 3) and np.isfinite(found).all():
            return found
    raise SceneError(
        f"The goal of {owner} at t = {time:.6g} must be finite, with shape {(effectors, 3)}; got "
        f"{shown(given)}."
    )


def within_reach(tip: np.ndarray, way: np.ndarray, reach: float) -> np.ndarray:
    """Goals at `way` from the effectors, moved nearer where they are further than `reach`.

    Args:
        tip: Position of each effector [length], shape (n_e, 3).
        way: From each effector to its goal [length], shape (n_e, 3).
        reach: Largest distance [length].
    """
    if reach == math.inf:
        return tip + way
    far = np.linalg.norm(way, axis=1, keepdims=True)
    return tip + way * np.minimum(1.0, reach / np.maximum(far, 1e-300))


FAR = 5.0
"""A goal further from its effector than so many sizes of the robot is warned of."""
FACTORS = (1e3, 1e2, 1e1, 1e-1, 1e-2, 1e-3)
"""Between units of length that are mistaken for each other."""
SMALL = 100.0
"""A goal in reach is warned of if so many times it, or more, is beside the effector."""
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


RELATIVE_RATIO_MAX = 0.25
"""Distance of a goal from the origin by that from its effector, below which it may be meant
relative to the effector [-]."""
UNIT_RATIO_MAX = 0.02
"""The same, below which it is rather in another unit [-]."""
OTHER_NODE_RATIO_MAX = 0.15
"""Distance of the body from a goal by that of the effector, below which another node is meant."""
FAR_FROM_TIP = 0.5
"""Distance of a goal from its effector by the robot's size, from which on these are asked [-]."""
EXCHANGED_RATIO_MAX = 0.5
"""Distances of two effectors from each other's goals by those from their own, below which the goals
may be exchanged [-]."""
HELD_FRACTION_MAX = 0.5
"""Fraction of a body's nodes that are fixed, above which that is a reason [-]."""


def misplaced(controller: Any, effector: int, starts: np.ndarray, goals: np.ndarray) -> list[str]:
    """Return reasons why a goal was not reached that lie in the scene, not in the motion.

    Args:
        controller: The InverseController.
        effector: Its effector.
        starts: Where the effectors were after the first step [length], shape (n_e, 3).
        goals: Their goals at the end [length], shape (n_e, 3).
    """
    start, goal = starts[effector], goals[effector]
    node = controller.effectors[effector][0].getContext()
    body, size = body_of(node), body_size(node)
    if body is None:
        return []
    reasons = []
    distance, from_origin = float(np.linalg.norm(goal - start)), float(np.linalg.norm(goal))
    x = np.asarray(body.getMechanicalState().rest_position.value)[:, :3]
    nearest = float(np.linalg.norm(x - goal, axis=1).min(initial=np.inf))
    unit = far_goal(start, goal, size)
    if unit is not None:
        reasons.append(f"effector '{node.getPathName()}' {unit}".rstrip("?"))
    elif distance > FAR_FROM_TIP * size:
        if UNIT_RATIO_MAX * distance < from_origin < RELATIVE_RATIO_MAX * distance:
            reasons.append(
                f"goal {point(goal)} is {distance:.3g} from where effector '{node.getPathName()}' "
                f"began, {point(start)}, and {from_origin:.3g} from the origin: is it given "
                "relative to the effector"
            )
        elif nearest < OTHER_NODE_RATIO_MAX * distance:
            reasons.append(
                f"goal {point(goal)} is {nearest:.3g} from another part of '{body.getPathName()}', "
                f"and {distance:.3g} from where effector '{node.getPathName()}' began: is it the "
                "effector that is meant"
            )
    apart = np.linalg.norm(starts[:, None] - goals, axis=2)  # effector, goal
    for second in range(len(starts)):
        exchanged = apart[effector, second] + apart[second, effector]
        if exchanged < EXCHANGED_RATIO_MAX * (apart[effector, effector] + apart[second, second]):
            reasons = [
                f"effectors {effector} and {second} began {exchanged:.3g} in sum from each other's "
                "goals, much nearer than from their own: are the goals exchanged"
            ]
    held, of = fixed_nodes(body), len(x)
    if HELD_FRACTION_MAX * of < len(held) < of:  # all of them are warned of at the start
        reasons.append(
            f"{len(held)} of {of} nodes of '{body.getPathName()}' are fixed: is the clamp too large"
        )
    return reasons


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
    found += _views_of_effectors(controller, goal)
    if has_state(goal):
        return found
    try:
        time = float(controller.time.value) + dt
        goals = controller.goals_at(time)
        is_constant = np.array_equal(goals, controller.goals_at(time + LATER * dt))
    except Exception:  # the user's own code, or a wrong shape: the first step says it
        return found
    source = getattr(goal, "source", None)
    source = options.find_data(controller, "goal", source, "")
    far = FAR if controller.goal_distance == math.inf else LED * FAR
    for rows, weight, place in zip(
        controller.effectors, controller.weight.reshape(-1, 3), goals, strict=True
    ):
        node = rows[0].getContext()
        if source is not None and (text := carried_goal(node, source)):
            found.append(text)
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


def _views_of_effectors(controller: Any, goal: Any) -> list[str]:
    """Say which effector's own positions a goal function holds a view of: its goal runs away."""
    try:
        cells = [cell.cell_contents for cell in getattr(goal, "__closure__", None) or ()]
    except ValueError:  # one that is empty yet
        cells = []
    held = [*getattr(goal, "__dict__", {}).values(), *cells]
    views = [x for x in held if isinstance(x, np.ndarray)]
    nodes = [rows[0].getContext() for rows in controller.effectors]
    return [
        f"the goal function holds a view of the positions of '{node.getPathName()}', which is its "
        "effector: the goal moves along with it. Keep a copy: .value.copy()."
        for node in nodes
        if any(np.shares_memory(x, node.getMechanicalState().position.value) for x in views)
    ]


def far_goal(tip: np.ndarray, goal: np.ndarray, size: float, *, far: float = FAR) -> str | None:
    """Return what is implausible in a goal; None where nothing is.

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
