"""Comparison of a robot with a scene: names, quantities, units, limits, rates, real time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Any

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.base.toml.faults import toml_key
from sofa_softctl.bridge.config.robot import ActuatorConfig, RobotConfig
from sofa_softctl.bridge.config.scene_actuators import SceneActuator, actuators_of
from sofa_softctl.bridge.quantities import scene_factor
from sofa_softctl.scene.graph.nodes import box_size
from sofa_softctl.units import Units

LIMIT_TOLERANCE = 1e-9
"""Relative difference of limits due to rounding [-]."""
UNIT_RATIO_MIN = 50.0
"""Ratio of a robot's limit to the scene's above which the units probably differ [-]."""


@dataclass(frozen=True)
class Match:
    """An actuator of the robot and the one of the scene that commands it."""

    actuator: ActuatorConfig
    """Actuator of the robot."""
    index: int
    """Number of the scene's actuator, in the order of its controller."""
    source: str
    """Source of its targets: 'effort' or 'displacement'."""
    factor: float
    """Factor from the scene's unit to the robot's."""
    low: float
    """Least value of the scene [the robot's unit]; -inf: the scene sets no limit."""
    high: float
    """Greatest value of the scene [the robot's unit]; inf: the scene sets no limit."""


@dataclass
class Fit:
    """Result of comparing a robot with a scene."""

    matches: list[Match] = field(default_factory=list)
    """One match per actuator of the robot, in its order, if there are no errors."""
    errors: list[str] = field(default_factory=list)
    """Errors to correct before the scene can drive the robot, in sentences."""
    warnings: list[str] = field(default_factory=list)
    """Warnings for users, in sentences."""
    unlimited: list[str] = field(default_factory=list)
    """Actuators whose speed the scene does not limit: whether they can follow is not known."""
    limited_otherwise: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Other quantity with a limited rate, and own quantity, by name in `unlimited`."""

    def warn(self, name: str, text: str) -> None:
        """Add a warning of an actuator, or its name to a warning with the same text."""
        for number, warning in enumerate(self.warnings):
            names, separator, remainder = warning.partition(f": {text}")
            if separator and not remainder:
                self.warnings[number] = f"{names}, '{name}': {text}"
                return
        self.warnings.append(f"'{name}': {text}")


def fit(
    robot: RobotConfig, actuators: Sequence[SceneActuator], units: Units | None, dt: float
) -> Fit:
    """Compare a robot with a scene.

    Args:
        robot: The robot.
        actuators: Actuators of the scene, see `actuators_of`.
        units: The scene's units, or None if it declares none, which is an error.
        dt: The scene's time step [scene's unit of time].
    """
    result = Fit()
    if units is None:
        result.errors.append(
            f"{robot.path}: the scene declares no units, so that its numbers mean nothing to a "
            'motor. Add a line such as UNITS = "mm, kg, s" to the scene\'s file.'
        )
    _check_names(result, robot, [scene_actuator.name for scene_actuator in actuators])
    step = dt * units.in_si("time") if units is not None else math.nan
    _check_times(result, robot, step)
    by_name = {scene_actuator.name: number for number, scene_actuator in enumerate(actuators)}
    for actuator in robot.actuators:
        if actuator.name in by_name and units is not None:
            number = by_name[actuator.name]
            _match_actuator(result, robot, actuator, number, actuators[number], units, step)
    return result


def _check_names(result: Fit, robot: RobotConfig, names: Sequence[str]) -> None:
    robot_names = [actuator.name for actuator in robot.actuators]
    listing = ", ".join(names) or "none"
    for actuator in robot.actuators:
        if actuator.name not in names:
            hint = did_you_mean(actuator.name, names).strip() or "Rename or remove it."
            result.errors.append(
                f"{_prefix(robot, actuator)}expected the name of a scene's actuator: {listing}"
                f"; got '{actuator.name}'. {hint}"
            )
    for name in names:
        if name not in robot_names:
            result.errors.append(
                f"{robot.path}: the scene's actuator '{name}' has no table. Add "
                f"[actuators.{toml_key(name)}]."
            )


def _check_times(result: Fit, robot: RobotConfig, step: float) -> None:
    rate = robot.stream.rate
    if step >= robot.safety.command_timeout:
        result.errors.append(
            f"{robot.path}: [safety] command_timeout: expected more than a step of the scene, "
            f"{step:g} s, got {robot.safety.command_timeout:g} s. Write a longer time, such as "
            f"{5 * step:g}."
        )
    if step * rate < 1.0 - 1e-6:
        result.warnings.append(
            f"The scene makes {1 / step:.4g} steps a second, the robot takes {rate:.4g} commands: "
            "what lies between them is left out."
        )
    steps = robot.stream.lookahead
    if steps * step * rate < 2.0 - 1e-6:
        result.warnings.append(
            f"[stream] lookahead = {steps}: {steps} steps of {step:g} s are a reserve of less than "
            f"two periods of the robot, {2.0 / rate:g} s: it waits for the scene even "
            "where that is fast enough. "
            f"Write lookahead = {math.ceil(2.0 / (step * rate) - 1e-6)}."
        )


def _match_actuator(
    result: Fit,
    robot: RobotConfig,
    actuator: ActuatorConfig,
    number: int,
    scene: SceneActuator,
    units: Units,
    step: float,
) -> None:
    quantity = actuator.quantity
    if quantity not in scene.quantities:
        result.errors.append(
            f"{_prefix(robot, actuator)}expected a quantity that the scene commands it in: "
            f"{' or '.join(scene.quantities)}; got {quantity}. Change 'quantity', with unit, "
            "map and limits."
        )
        return
    factor = scene_factor(quantity, actuator.unit, units)
    low, high = (limit * factor for limit in scene.limits(quantity))
    source = "effort" if quantity == scene.effort else "displacement"
    result.matches.append(Match(actuator, number, source, factor, low, high))
    pulls_only = quantity == "length" == scene.displacement and scene.limits("force")[0] >= 0.0
    if low == -math.inf and pulls_only and actuator.position_min < 0.0:
        low = actuator.position_min  # it yields to the body's motion, for which that is meant
    _compare_limits(result, actuator, low, high)
    change = scene.step(quantity) * factor
    if math.isfinite(change):
        _compare_steps(result, actuator, change, step)
    else:
        result.unlimited.append(actuator.name)
        other_quantity = scene.effort if source == "displacement" else scene.displacement
        if math.isfinite(scene.step(other_quantity)):
            result.limited_otherwise[actuator.name] = (other_quantity, quantity)


def _compare_limits(result: Fit, actuator: ActuatorConfig, low: float, high: float) -> None:
    lower, upper, unit = actuator.position_min, actuator.position_max, actuator.unit
    if high < lower or low > upper:
        result.errors.append(
            f"'{actuator.name}': the limits have nothing in common: "
            f"{limits_text(low, high, unit)} in the scene, {lower:g} to {upper:g} {unit} in the "
            "robot. Change one of them."
        )
        return
    if upper > UNIT_RATIO_MIN * high > 0.0:
        result.warn(
            actuator.name,
            f"the robot's limits, {lower:g} to {upper:g} {unit}, are {upper / high:.3g} "
            f"times those of the scene, {limits_text(low, high, unit)}: they stop nothing. Are "
            f"they in {unit}?",
        )
    slack = LIMIT_TOLERANCE * (upper - lower)
    if low < lower - slack or high > upper + slack:
        result.warn(
            actuator.name,
            f"the scene's limits are wider than the robot's: "
            f"{limits_text(low, high, unit)}; the robot has {lower:g} to {upper:g} {unit}. A "
            "target beyond is a fault, at which the robot is held.",
        )


def _compare_steps(result: Fit, actuator: ActuatorConfig, change: float, step: float) -> None:
    unit, speed = actuator.unit, change / step
    if speed > actuator.rate * (1.0 + LIMIT_TOLERANCE):
        result.warn(
            actuator.name,
            f"the scene may ask for {speed:.4g} {unit}/s, the robot moves at "
            f"most {actuator.rate:.4g}: it lags behind in fast motions.",
        )
    if change > actuator.jump * (1.0 + LIMIT_TOLERANCE):
        result.warn(
            actuator.name,
            f"the scene may ask for {change:.4g} {unit} in a step, which is "
            f"more than 'jump', {actuator.jump:.4g} {unit}: a fault, at which the robot is held.",
        )


def limits_text(low: float, high: float, unit: str) -> str:
    """Describe limits; infinite ones are not set."""
    if math.isfinite(low) and math.isfinite(high):
        return f"{low:.6g} to {high:.6g} {unit}"
    if math.isfinite(high):
        return f"up to {high:.6g} {unit}, without a least"
    return f"from {low:.6g} {unit}, without a greatest" if math.isfinite(low) else "none"


def _prefix(robot: RobotConfig, actuator: ActuatorConfig) -> str:
    return f"{robot.path}:{actuator.line}: [actuators.{toml_key(actuator.name)}]: "


def fit_scene(robot: RobotConfig, session: Any, *, steps: int = 20) -> tuple[Fit, float]:
    """Compare a robot with a loaded scene, and measure the scene's speed.

    Args:
        robot: The robot.
        session: A `sofa_softctl.scene.session.session.Session`; it makes some steps.
        steps: Number of timed steps, after two that compile; 0 for none.

    Returns:
        Comparison, and real-time factor (scene time per second; NaN if not measured).
    """
    result = fit(robot, actuators_of(session.root), session.units, session.dt)
    size = box_size(session.root)
    for match in result.matches:
        actuator, distance = match.actuator, size * match.factor  # no cable is pulled in by more
        if (
            actuator.quantity == "length"
            and match.high == math.inf
            and actuator.position_max > distance
        ):
            result.warn(
                actuator.name,
                f"it may move to {actuator.position_max:g} {actuator.unit}, and the scene is "
                f"{size * match.factor:.3g} {actuator.unit} long: is that the unit of its limits?",
            )
    if not steps or result.errors:
        return result, math.nan
    session.step(2)
    times = []
    for _ in range(steps):
        start = perf_counter()
        session.step()
        times.append(perf_counter() - start)
    factor = session.dt * session.units.in_si("time") / median(times)
    _check_real_time(result, robot, factor)
    return result, factor


def _check_real_time(result: Fit, robot: RobotConfig, factor: float) -> None:
    if factor >= 1.0:
        return
    slow = f"the scene is slower than real time here: {factor:.2f} s of it in a second"
    if robot.stream.slow_scene == "refuse":
        result.errors.append(
            f'{robot.path}: {slow}, and [stream] has slow_scene = "refuse". Use a coarser mesh '
            'or a longer dt, or set slow_scene = "wait".'
        )
    else:
        result.warnings.append(
            f"{slow[0].upper()}{slow[1:]}. The robot waits for it: its motion is {1 / factor:.1f} "
            "times slower than the scene's."
        )
