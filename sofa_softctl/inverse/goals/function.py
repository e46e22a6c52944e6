"""Goals as functions of time, and goals that look like mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.base.jit import njit
from sofa_softctl.errors import SceneError
from sofa_softctl.inverse.aspects.aspect import StepAspect
from sofa_softctl.scene.control import options
from sofa_softctl.scene.control.access import writer
from sofa_softctl.scene.control.options import as_floats, format_value
from sofa_softctl.scene.graph.nodes import body_size
from sofa_softctl.scene.plausibility.bodies import carried_goal, point


def as_function(goal: Callable[[float], Any] | Sequence[float] | np.ndarray) -> Any:
    """Return a goal as a function of time; functions are returned unchanged."""
    if callable(goal):
        return goal
    fixed = np.array(goal, dtype=float)
    return lambda time: fixed


def has_state(goal: Any) -> bool:
    """Return True if a function of time has a state to save."""
    return hasattr(goal, "snapshot") and hasattr(goal, "restore")


def goals_at(goal: Callable[[float], Any], time: float, effectors: int, owner: Any) -> np.ndarray:
    """Return the goal of each effector at a time [length], shape (n_e, 3).

    Args:
        goal: Function of time.
        time: Time at which the goal is evaluated [time].
        effectors: Number of effectors, n_e.
        owner: The controller, for the message.

    Raises:
        SceneError: The goal is not finite, or of another shape.
    """
    value = goal(time)
    is_array = type(value) is np.ndarray and value.dtype.kind in "iuf"
    numbers = value.astype(float, order="C") if is_array else as_floats(value)
    if numbers is not None and np.isfinite(numbers).all():
        if numbers.shape == (3,) and effectors == 1:
            return numbers[None]
        if numbers.shape == (effectors, 3):
            return numbers
    raise SceneError(
        f"The goal of {owner.getPathName()} at t = {time:.6g} must be finite, with shape "
        f"{(effectors, 3)}; got {format_value(value)}."
    )


def checked_goal(controller: Any, goal: Any, effectors: int) -> Any:
    """Return the goal as a function of time; SceneError if it cannot be one."""
    if callable(goal) and not hasattr(goal, "getPathName"):
        return options.function(controller, "goal", goal, "goal(time)", 0.0)
    if options.is_data(goal) or options.is_data_path(goal):
        follow: Any = lambda time: _goal_from_data(controller, goal, effectors)  # noqa: E731
        follow.source = goal
        return follow
    return as_function(fixed_goal(controller, goal, effectors))


def fixed_goal(controller: Any, goal: Any, effectors: int) -> np.ndarray:
    """Return the goal of each effector, shape (n, 3); SceneError if it is not one."""
    points = options.as_floats(goal)
    if (
        points is None
        or np.atleast_2d(points).shape != (effectors, 3)
        or not np.isfinite(points).all()
    ):
        shapes = "(3,)" if effectors == 1 else f"({effectors}, 3)"
        expected = f"a point of shape {shapes}, or a function of time that returns one"
        advice = "Give its position, such as state.position.value[0]." if _is_state(goal) else ""
        options.raise_invalid_option(controller, "goal", expected, goal, advice)
    return np.atleast_2d(points).copy()


def _goal_from_data(controller: Any, goal: Any, effectors: int) -> np.ndarray:
    """Return the present value of a Data; of rigid bodies their positions."""
    data = options.find_data(controller, "goal", goal, "@/target/dofs.position")
    value = options.as_floats(data)
    if value is not None and value.ndim == 2:
        value = value[:, :3]
    return fixed_goal(controller, data if value is None else value, effectors)


def _is_state(value: Any) -> bool:
    return hasattr(value, "findData") and value.findData("position") is not None


class Goals(StepAspect):
    """Goals of a controller's effectors.

    Args:
        controller: The InverseController; its Data `goal` shows the goals of each step.
        goal: As of InverseController.
        count: Number of effectors.
    """

    def __init__(self, controller: Any, goal: Any, count: int) -> None:
        self._controller, self._count = controller, count
        self._seen = 0  # changes of the Data that are known
        self.follow(goal)

    def follow(self, goal: Any) -> None:
        """Follow another goal from the next step on.

        Raises:
            SceneError: The goal is neither points, nor a function of time, nor a Data.
        """
        self.function: Any = checked_goal(self._controller, goal, self._count)
        is_fixed = not (callable(goal) or options.is_data(goal) or options.is_data_path(goal))
        self._fixed: np.ndarray | None = self.function(0.0) if is_fixed else None
        self._points: np.ndarray | None = None  # set by a script
        self._cache: tuple[float, Any] = (math.nan, None)  # time and goals

    @override
    def begin(self) -> None:
        """Adopt the goals that a script has set in the Data since the last step."""
        if self._data.getCounter() != self._seen:
            self._points = fixed_goal(self._controller, self._data, self._count)
            self._cache = (math.nan, None)
            self.ignore_changes()

    def ignore_changes(self) -> None:
        """Count the changes of the Data so far as known: no script made them."""
        self._data = self._controller.outputs["goal"]
        self._write, self._seen = writer(self._data), self._data.getCounter()

    def at(self, time: float) -> np.ndarray:
        """Return the goal of each effector at a time [length], shape (n_e, 3).

        The function is called once for each time: it may read from a device.
        """
        if time != self._cache[0]:
            goal = self._fixed if self._points is None else self._points
            if goal is None:
                goal = goals_at(self.function, time, self._count, self._controller)
            self._cache = (time, goal)
        return self._cache[1]

    def show(self, goal: np.ndarray) -> None:
        """Write the goals of a step to the Data."""
        self._write(goal)
        self._seen = self._data.getCounter()

    @override
    def forget(self) -> None:
        """Forget the last evaluation; goals that a script has set stay."""
        self._cache = (math.nan, None)

    @override
    def snapshot(self) -> Any:
        return self._points, self.function.snapshot() if has_state(self.function) else None

    @override
    def restore(self, snapshot: Any) -> None:
        self._points, state = snapshot
        self._cache = (math.nan, None)
        if has_state(self.function):
            self.function.restore(state)
        self.ignore_changes()


@njit
def limit_distance(
    tip: np.ndarray, offset: np.ndarray, distance_max: float, counts: np.ndarray
) -> np.ndarray:
    """Return targets at `offset` from the effectors, moved nearer if they are too far away.

    Args:
        tip: Position of each effector [length], shape (n_e, 3).
        offset: Vector from each effector to its goal [length], shape (n_e, 3).
        distance_max: Largest distance of a target from its effector, along the axes that count
            [length].
        counts: Axes that count, which are those with a weight, shape (n_e, 3).
    """
    target = np.empty(tip.shape)
    for i in range(len(tip)):
        factor = 1.0
        if distance_max < np.inf:
            square = 0.0
            for axis in range(3):
                square += (offset[i, axis] * counts[i, axis]) ** 2
            factor = min(1.0, distance_max / max(np.sqrt(square), 1e-300))
        for axis in range(3):
            target[i, axis] = tip[i, axis] + offset[i, axis] * factor
    return target


@njit
def goal_distances(tip: np.ndarray, goal: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the distance of each effector to its goal along the axes that count, shape (n_e,).

    Arguments as of `limit_distance`; `goal`: Goal of each effector [length], shape (n_e, 3).
    """
    distances = np.empty(len(tip))
    for i in range(len(tip)):
        square = 0.0
        for axis in range(3):
            square += ((tip[i, axis] - goal[i, axis]) * counts[i, axis]) ** 2
        distances[i] = np.sqrt(square)
    return distances


@dataclass(frozen=True)
class GoalSettings:
    """Thresholds of the warnings on goals; sizes and distances in units of the robot's size [-]."""

    far_ratio: float = 5.0
    """Distance of a goal from its effector above which it is implausible."""
    led_factor: float = 20.0
    """Factor on `far_ratio` for goals with a `goal_distance`: the robot travels."""
    unit_factors: tuple[float, ...] = (1e3, 1e2, 1e1, 1e-1, 1e-2, 1e-3)
    """Factors between units of length that are mistaken for each other [-]."""
    near_factor_min: float = 100.0
    """Unit factor above which a goal is doubted although it is near [-]."""
    tolerance_max: float = 0.2
    """Tolerance of goals above which nearly everything counts as reached."""
    later_steps: int = 37
    """Steps after which a goal is evaluated again, to see whether it moves."""
    at_goal: float = 1e-3
    """Distance along weighted axes below which the effector is at its goal."""
    unweighted_offset_max: float = 0.05
    """Distance along unweighted axes above which these axes were probably meant to count."""
    period_steps_min: int = 10
    """Smallest number of steps in a period of a goal."""
    doubted_distance: float = 0.5
    """Distance of a goal from its effector above which the following causes are considered."""
    relative_ratio_max: float = 0.25
    """Distance of a goal from the origin relative to its distance from the effector, below which it
    may be meant relative to the effector [-]."""
    unit_ratio_max: float = 0.02
    """The same ratio, below which the goal is rather in another unit [-]."""
    other_node_ratio_max: float = 0.15
    """Distance of the body from a goal relative to the effector's, below which another node is
    meant [-]."""
    exchanged_ratio_max: float = 0.5
    """Distances of two effectors from each other's goals relative to those from their own, below
    which the goals may be exchanged [-]."""
    reach_ratio_max: float = 1.5
    """Distance of a goal from the clamp, relative to that of the body's farthest point, above which
    the goal is out of reach: robots hardly stretch more [-]."""
    fixed_fraction_max: float = 0.5
    """Fraction of fixed nodes of a body, above which the clamp may be too large [-]."""


CHECKS = GoalSettings()


def goal_warnings(controller: Any) -> list[str]:
    """Return warnings on goals far from their effectors, and on periods of a few steps.

    Goals with a state are not evaluated. A goal that raises is left to the first step.
    """
    texts = []
    goal, dt = controller.goals.function, float(controller.dt.value)
    period = getattr(goal, "period", math.inf)
    if isinstance(period, int | float) and period < CHECKS.period_steps_min * dt:
        texts.append(
            f"the goal goes round in {period:g}, which is {period / dt:.3g} steps of dt={dt:g}. "
            "Is the period, or dt, in other units?"
        )
    if not np.any(controller.weight):
        texts.append(
            "all entries of 'weight' are 0, so that no goal counts and the robot need not move. "
            "Give a positive weight to the directions that are to be reached."
        )
    texts += _views_of_effectors(controller, goal)
    if has_state(goal):
        return texts
    try:
        time = float(controller.time.value) + dt
        goals = controller.goals.at(time)
        is_constant = np.array_equal(goals, controller.goals.at(time + CHECKS.later_steps * dt))
    except Exception:  # the user's code, or a wrong shape: the first step reports it
        return texts
    source = getattr(goal, "source", None)
    source = options.find_data(controller, "goal", source, "")
    led = controller.goal_distance < math.inf
    far_ratio = CHECKS.far_ratio * (CHECKS.led_factor if led else 1.0)
    for rows, weight, place in zip(
        controller.effectors, controller.weight.reshape(-1, 3), goals, strict=True
    ):
        node = rows[0].getContext()
        if source is not None and (text := carried_goal(node, source)):
            texts.append(text)
        tip = np.array(node.getMechanicalState().position.value)[int(rows[0].indices.value[0]), :3]
        target = np.where(weight > 0.0, place, tip)
        offset = np.where(weight > 0.0, 0.0, place - tip)
        size = body_size(node)
        if is_constant and weight.any() and np.linalg.norm(target - tip) < CHECKS.at_goal * size:
            if np.linalg.norm(offset) > CHECKS.unweighted_offset_max * size:
                texts.append(
                    f"effector '{node.getPathName()}' is at its goal along the axes that count, "
                    f"and {np.linalg.norm(offset):.4g} from it along those whose weight is 0, so "
                    "that nothing need move. Give these a weight, or leave 'weight' out."
                )
        tolerances: Any = controller.goal_tolerance
        tolerances = [] if tolerances is None else np.ravel(tolerances)
        for tolerance in (t for t in tolerances if CHECKS.tolerance_max * size < t < math.inf):
            texts.append(
                f"goal_tolerance={tolerance:g}, and the robot is {size:.4g} long: nearly "
                "everything counts as reached. Give 1 % of its size, say."
            )
        text = far_goal(tip, target, body_size(node), far_ratio=far_ratio)
        if text is not None:
            texts.append(f"effector '{node.getPathName()}' {text}")
    return texts


def _views_of_effectors(controller: Any, goal: Any) -> list[str]:
    """Warn of goal functions that hold a view of an effector's positions: the goal runs away."""
    try:
        cells = [cell.cell_contents for cell in getattr(goal, "__closure__", None) or ()]
    except ValueError:  # a cell without a value
        cells = []
    values = [*getattr(goal, "__dict__", {}).values(), *cells]
    views = [x for x in values if isinstance(x, np.ndarray)]
    nodes = [rows[0].getContext() for rows in controller.effectors]
    return [
        f"the goal function holds a view of the positions of '{node.getPathName()}', which is its "
        "effector: the goal moves along with it. Keep a copy: .value.copy()."
        for node in nodes
        if any(_shows(x, node.getMechanicalState().position) for x in views)
    ]


def _shows(array: np.ndarray, data: Any) -> bool:
    """Return True if an array is a view of a Data, also one from before the start."""
    earlier = [earlier.find() for earlier in getattr(data, "earlier_arrays", ())]
    arrays = [data.value, *(x for x in earlier if x is not None)]
    return any(np.shares_memory(array, x) for x in arrays)


def far_goal(
    tip: np.ndarray, goal: np.ndarray, size: float, *, far_ratio: float = CHECKS.far_ratio
) -> str | None:
    """Return the reason why a goal is implausible, or None.

    Args:
        tip: Position of the effector [length], shape (3,).
        goal: Goal of the effector [length], shape (3,).
        size: Size of the robot [length].
        far_ratio: Distance above which a goal is far, in sizes of the robot [-].

    Returns:
        End of a sentence that begins with the effector.
    """
    distance = float(np.linalg.norm(goal - tip))
    distances = {k: float(np.linalg.norm(k * goal - tip)) for k in CHECKS.unit_factors}
    factors = [k for k, d in distances.items() if d < 0.25 * min(size, distance)]
    is_near = distance <= far_ratio * size
    if not size > 0.0 or (
        is_near
        and not (factors and factors[0] >= CHECKS.near_factor_min and distance > 0.75 * size)
    ):
        return None
    text = (
        f"is at {point(tip)}, and its goal {point(goal)} is {distance:.4g} away; the robot is "
        f"{size:.4g} long. "
    )
    if factors:
        nearest = f"{distances[factors[0]]:.3g} away"
        return f"{text}Times {factors[0]:g} the goal is {nearest}: is it in other units?"
    return f"{text}Is the goal, or the mesh, in other units?"
