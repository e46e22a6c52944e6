"""Measurements of a robot, as Data of the bridge and as rows of recordings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sofa_softctl.bridge.config.fit import Match
from sofa_softctl.bridge.config.robot import RobotConfig, SensorConfig
from sofa_softctl.bridge.course.state import Sample, StreamState
from sofa_softctl.bridge.quantities import scene_factor
from sofa_softctl.errors import ConfigError
from sofa_softctl.scene.control.streams import StreamRows
from sofa_softctl.units import Units, together


class SampleRows:
    """Makes streams of samples, in the units and the order of the robot's configuration.

    Args:
        robot: The robot's configuration.
        seconds: One unit of the recording's time [s].
    """

    def __init__(self, robot: RobotConfig, seconds: float = 1.0) -> None:
        self.robot, self.seconds = robot, seconds
        self._ends = np.cumsum([sensor.size for sensor in robot.sensors])
        self._state: StreamState | None = None

    def split(self, numbers: np.ndarray) -> list[np.ndarray]:
        """Split numbers of all sensors, shape (..., n), by sensor."""
        return np.split(numbers, self._ends[:-1], axis=-1) if len(self._ends) else []

    def of(self, samples: Sequence[Sample]) -> Iterator[StreamRows]:
        """Yield the streams of samples."""
        if not samples:
            return
        clock = np.array([sample.clock for sample in samples])
        time = np.array([sample.time for sample in samples]) / self.seconds
        unit = together([actuator.unit for actuator in self.robot.actuators])
        for name, unit_of_rows, help in (
            ("target", unit, "What the scene asked for, interpolated, by actuator"),
            ("command", unit, "What was sent, after the limits; NaN: nothing was"),
            ("measured", unit, "Measured positions, NaN where there is unknown"),
            ("effort", "", "Measured efforts, as the devices measure them"),
            ("age", "s", "Age of the feedback of each device"),
            *(
                [("sensor_age", "s", "Age of the numbers of each sensor")]
                if self.robot.sensors
                else []
            ),
        ):
            values = np.array([getattr(sample, name) for sample in samples])
            yield StreamRows(f"robot.{name}", time, clock, values, unit_of_rows, help)
        numbers = self.split(np.array([sample.sensors for sample in samples]))
        for sensor, values in zip(self.robot.sensors, numbers, strict=True):
            yield StreamRows(f"robot.{sensor.name}", time, clock, values, sensor.unit, "Sensor")
        changes, states = [], []
        for number, sample in enumerate(samples):
            if sample.state is not self._state:
                changes.append(number)
                states.append(sample.state.name)
                self._state = sample.state
        help = "State of the device process, where it changes"
        yield StreamRows("robot.state", time[changes], clock[changes], states, "", help)


class FeedbackData:
    """Adds the output Data of a bridge, and writes samples to them.

    Args:
        bridge: The HardwareBridge.
        robot: The robot's configuration.
        count: Actuators of the scene.
        matches: Matches with the robot's actuators.
        units: Units of the scene.

    Raises:
        ConfigError: A sensor has the name of another Data.
    """

    def __init__(
        self, bridge: Any, robot: RobotConfig, count: int, matches: Sequence[Match], units: Units
    ) -> None:
        self.robot, self.units = robot, units
        self._index = np.array([match.index for match in matches])
        self._factor = np.array([match.factor for match in matches])
        devices = [device.name for device in robot.devices]
        self._device = [devices.index(actuator.device) for actuator in robot.actuators]
        self._split = SampleRows(robot).split
        self._outputs = bridge.outputs
        self.recorded: dict[str, tuple[str, str]] = {}
        """Units and helps of recorded Data, see `SceneController.recorded`."""
        quantities = [""] * count
        for match in matches:
            quantities[match.index] = match.actuator.quantity
        words = together(quantities)
        unknown = np.full(count, np.nan)
        self._add_output(
            bridge, "command", unknown, words, f"What was sent to each actuator [{words}]"
        )
        self._add_output(bridge, "measured", unknown, words, f"Measured positions [{words}]")
        self._add_output(bridge, "age", unknown, "s", "Age of each measured position")
        self._add_output(bridge, "robot_time", [np.nan], "time", "The robot's clock")
        for sensor in robot.sensors:
            if bridge.findData(sensor.name) is not None or hasattr(bridge, sensor.name):
                raise ConfigError(
                    f"{robot.path}:{sensor.line}: the sensor '{sensor.name}' has the name of a "
                    "Data or attribute of the bridge. Give it another one."
                )
            empty = np.full(sensor.size, np.nan)
            word = "" if sensor.quantity == "number" else sensor.quantity
            self._add_output(bridge, sensor.name, empty, word, f"Sensor '{sensor.name}'")
        if robot.sensors:
            empty = np.full(len(robot.sensors), np.nan)
            self._add_output(bridge, "sensor_age", empty, "s", "Age of the numbers of each sensor")
        bridge.add_output("state", "", "State of the device process.")

    def _add_output(self, bridge: Any, name: str, value: Any, unit: str, help: str) -> None:
        bridge.add_output(name, value, f"{help}.")
        self.recorded[name] = (unit, help)

    def clear(self) -> None:
        """Reset the Data to their values before the first sample."""
        for name in self.recorded:
            self._outputs[name].value = np.full(np.shape(self._outputs[name].value), np.nan)
        self._outputs["state"].value = ""

    def write(self, sample: Sample, now: float) -> None:
        """Write the newest sample.

        Args:
            sample: The sample.
            now: This computer's monotonic clock [s].
        """
        passed = now - sample.clock
        age = sample.age + passed
        fresh = age[self._device] <= self.robot.safety.feedback_timeout
        self._write_output("command", sample.command / self._factor)
        self._write_output("measured", np.where(fresh, sample.measured, np.nan) / self._factor)
        self._write_output("age", age[self._device])
        self._outputs["robot_time"].value = [sample.time / self.units.in_si("time")]
        for sensor, numbers in zip(self.robot.sensors, self._split(sample.sensors), strict=True):
            self._outputs[sensor.name].value = numbers / self._sensor_factor(sensor)
        if self.robot.sensors:
            self._outputs["sensor_age"].value = sample.sensor_age + passed
        self._outputs["state"].value = sample.state.name

    def _write_output(self, name: str, values: np.ndarray) -> None:
        data = self._outputs[name]
        row = np.full(len(data.value), np.nan)
        row[self._index] = values
        data.value = row

    def _sensor_factor(self, sensor: SensorConfig) -> float:
        """Return the factor from the scene's unit to the sensor's."""
        if sensor.quantity == "number":
            return 1.0
        return scene_factor(sensor.quantity, sensor.unit, self.units)
