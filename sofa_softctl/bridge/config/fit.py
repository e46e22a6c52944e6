"""Does a robot fit a scene: names, quantities, units, limits, rates, real time."""

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
from sofa_softctl.bridge.quantities import from_scene
from sofa_softctl.errors import ConfigError
from sofa_softctl.scene.graph.nodes import box_size
from sofa_softctl.units import Units

TOLERANCE = 1e-9
"""Relative difference of limits that rounding may make."""
UNIT_RATIO_MIN = 50.0
"""A robot's limit by the scene's, above which it is in another unit [-]."""


@dataclass(frozen=True)
class Match:
    """An actuator of the robot and the one of the scene that commands it."""

    actuator: ActuatorConfig
    """Of the robot."""
    index: int
    """Number of the scene's actuator, in the order of its controller."""
    source: str
    """What of it is taken: 'effort' or 'displacement'."""
    factor: float
    """Factor from the scene's unit to the robot's."""
    low: float
    """Least value of the scene [the robot's unit]; -inf: the scene sets no limit."""
    high: float
    """Greatest value of the scene [the robot's unit]; inf: the scene sets no limit."""


@dataclass
class Fit:
    """How a robot fits a scene."""

    matches: list[Match] = field(default_factory=list)
    """One for each actuator of the robot, in its order, where there are no errors."""
    errors: list[str] = field(default_factory=list)
    """What must be changed before the scene can drive the robot, in sentences."""
    warnings: list[str] = field(default_factory=list)
    """What users should know, in sentences."""
    unlimited: list[str] = field(default_factory=list)
    """Actuators whose speed the scene does not limit: whether they can follow is not known."""
    limited_otherwise: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Those of `unlimited` whose other quantity has a limited rate: that, and what they take."""

    def warn(self, name: str, text: str) -> None:
        """Add a warning of an actuator; those of the same text share one."""
        for number, known in enumerate(self.warnings):
            names, same, rest = known.partition(f": {text}")
            if same and not rest:
                self.warnings[number] = f"{names}, '{name}': {text}"
                return
        self.warnings.append(f"'{name}': {text}")

    def raise_errors(self) -> None:
        """Raise what must be changed.

        Raises:
            ConfigError: All errors, one a line.
        """
        if self.errors:
            raise ConfigError("\n".join(self.errors))


def fit(
    robot: RobotConfig, actuators: Sequence[SceneActuator], units: Units | None, dt: float
) -> Fit:
    """Compare a robot with a scene.

    Args:
        robot: The robot.
        actuators: Actuators of the scene, see `actuators_of`.
        units: The scene's units; None: it declares none, which is an error.
        dt: Its time step [scene's unit of time].
    """
    found = Fit()
    if units is None:
        found.errors.append(
            f"{robot.path}: the scene declares no units, so that its numbers mean nothing to a "
            'motor. Add a line such as UNITS = "mm, kg, s" to the scene\'s file.'
        )
    _check_names(found, robot, [each.name for each in actuators])
    step = dt * units.in_si("time") if units is not None else math.nan
    _check_times(found, robot, step)
    by_name = {each.name: number for number, each in enumerate(actuators)}
    for actuator in robot.actuators:
        if actuator.name in by_name and units is not None:
            number = by_name[actuator.name]
            _match(found, robot, actuator, number, actuators[number], units, step)
    return found


def _check_names(found: Fit, robot: RobotConfig, names: Sequence[str]) -> None:
    known = [actuator.name for actuator in robot.actuators]
    listing = ", ".join(names) or "none"
    for actuator in robot.actuators:
        if actuator.name not in names:
            hint = did_you_mean(actuator.name, names).strip() or "Rename or remove it."
            found.errors.append(
                f"{_at(robot, actuator)}expected the name of an actuator of the scene: {listing}; "
                f"got '{actuator.name}'. {hint}"
            )
    for name in names:
        if name not in known:
            found.errors.append(
                f"{robot.path}: the scene's actuator '{name}' has no table. Add "
                f"[actuators.{toml_key(name)}]."
            )


def _check_times(found: Fit, robot: RobotConfig, step: float) -> None:
    rate = robot.stream.rate
    if step >= robot.safety.command_timeout:
        found.errors.append(
            f"{robot.path}: [safety] command_timeout: expected more than a step of the scene, "
            f"{step:g} s, got {robot.safety.command_timeout:g} s. Write a longer time, such as "
            f"{5 * step:g}."
        )
    if step * rate < 1.0 - 1e-6:
        found.warnings.append(
            f"The scene makes {1 / step:.4g} steps a second, the robot takes {rate:.4g} commands: "
            "what lies between them is left out."
        )
    steps = robot.stream.lookahead
    if steps * step * rate < 2.0 - 1e-6:
        found.warnings.append(
            f"[stream] lookahead = {steps}: {steps} steps of {step:g} s are a reserve of less than "
            f"two periods of the robot, {2.0 / rate:g} s: it waits for the scene even "
            "where that is fast enough. "
            f"Write lookahead = {math.ceil(2.0 / (step * rate) - 1e-6)}."
        )


def _match(
    found: Fit,
    robot: RobotConfig,
    actuator: ActuatorConfig,
    number: int,
    of_scene: SceneActuator,
    units: Units,
    step: float,
) -> None:
    quantity = actuator.quantity
    if quantity not in of_scene.quantities:
        found.errors.append(
            f"{_at(robot, actuator)}expected a quantity that the scene commands it in: "
            f"{' or '.join(of_scene.quantities)}; got {quantity}. Change 'quantity', with unit, "
            "map and limits."
        )
        return
    factor = from_scene(quantity, actuator.unit, units)
    low, high = (limit * factor for limit in of_scene.limits(quantity))
    source = "effort" if quantity == of_scene.effort else "displacement"
    found.matches.append(Match(actuator, number, source, factor, low, high))
    pulls_only = (
        quantity == "length" == of_scene.displacement and of_scene.limits("force")[0] >= 0.0
    )
    if low == -math.inf and pulls_only and actuator.position_min < 0.0:
        low = actuator.position_min  # it yields to the body's motion, for which that is meant
    _compare_limits(found, actuator, low, high)
    change = of_scene.step(quantity) * factor
    if math.isfinite(change):
        _compare_steps(found, actuator, change, step)
    else:
        found.unlimited.append(actuator.name)
        other = of_scene.effort if source == "displacement" else of_scene.displacement
        if math.isfinite(of_scene.step(other)):
            found.limited_otherwise[actuator.name] = (other, quantity)


def _compare_limits(found: Fit, actuator: ActuatorConfig, low: float, high: float) -> None:
    least, greatest, unit = actuator.position_min, actuator.position_max, actuator.unit
    if high < least or low > greatest:
        found.errors.append(
            f"'{actuator.name}': the limits have nothing in common: "
            f"{limits_text(low, high, unit)} in the scene, {least:g} to {greatest:g} {unit} in the "
            "robot. Change one of them."
        )
        return
    if greatest > UNIT_RATIO_MIN * high > 0.0:
        found.warn(
            actuator.name,
            f"the robot's limits, {least:g} to {greatest:g} {unit}, are {greatest / high:.3g} "
            f"times those of the scene, {limits_text(low, high, unit)}: they stop nothing. Are "
            f"they in {unit}?",
        )
    slack = TOLERANCE * (greatest - least)
    if low < least - slack or high > greatest + slack:
        found.warn(
            actuator.name,
            f"the scene's limits are wider than the robot's: "
            f"{limits_text(low, high, unit)}; the robot has {least:g} to {greatest:g} {unit}. A "
            "target beyond is a fault, at which the robot is held.",
        )


def _compare_steps(found: Fit, actuator: ActuatorConfig, change: float, step: float) -> None:
    unit, speed = actuator.unit, change / step
    if speed > actuator.rate * (1.0 + TOLERANCE):
        found.warn(
            actuator.name,
            f"the scene may ask for {speed:.4g} {unit}/s, the robot moves at "
            f"most {actuator.rate:.4g}: it lags behind in fast motions.",
        )
    if change > actuator.jump * (1.0 + TOLERANCE):
        found.warn(
            actuator.name,
            f"the scene may ask for {change:.4g} {unit} in a step, which is "
            f"more than 'jump', {actuator.jump:.4g} {unit}: a fault, at which the robot is held.",
        )


def limits_text(low: float, high: float, unit: str) -> str:
    """Limits in words; infinite ones are not set."""
    if math.isfinite(low) and math.isfinite(high):
        return f"{low:.6g} to {high:.6g} {unit}"
    if math.isfinite(high):
        return f"up to {high:.6g} {unit}, without a least"
    return f"from {low:.6g} {unit}, without a greatest" if math.isfinite(low) else "none"


def _at(robot: RobotConfig, actuator: ActuatorConfig) -> str:
    return f"{robot.path}:{actuator.line}: [actuators.{toml_key(actuator.name)}]: "


def fit_scene(robot: RobotConfig, session: Any, *, steps: int = 20) -> tuple[Fit, float]:
    """Compare a robot with a scene that is loaded, and see how fast that runs.

    Args:
        robot: The robot.
        session: A `sofa_softctl.scene.session.session.Session`; it makes some steps.
        steps: Steps whose time is measured, after two that compile; 0: none.

    Returns:
        How it fits, and the real-time factor: seconds of the scene in a second; NaN: not measured.
    """
    found = fit(robot, actuators_of(session.root), session.units, session.dt)
    size = box_size(session.root)
    for match in found.matches:
        actuator, far = match.actuator, size * match.factor  # no cable is pulled in by more
        if actuator.quantity == "length" and match.high == math.inf and actuator.position_max > far:
            found.warn(
                actuator.name,
                f"it may move to {actuator.position_max:g} {actuator.unit}, and the scene is "
                f"{size * match.factor:.3g} {actuator.unit} long: is that the unit of its limits?",
            )
    if not steps or found.errors:
        return found, math.nan
    session.step(2)
    times = []
    for _ in range(steps):
        start = perf_counter()
        session.step()
        times.append(perf_counter() - start)
    factor = session.dt * session.units.in_si("time") / median(times)
    _check_real_time(found, robot, factor)
    return found, factor


def _check_real_time(found: Fit, robot: RobotConfig, factor: float) -> None:
    if factor >= 1.0:
        return
    slow = f"the scene is slower than real time here: {factor:.2f} s of it in a second"
    if robot.stream.slow_scene == "refuse":
        found.errors.append(
            f'{robot.path}: {slow}, and [stream] has slow_scene = "refuse". Use a coarser mesh '
            'or a longer dt, or set slow_scene = "wait".'
        )
    else:
        found.warnings.append(
            f"{slow[0].upper()}{slow[1:]}. The robot waits for it: its motion is {1 / factor:.1f} "
            "times slower than the scene's."
        )
