"""Samples of the device process as rows of recordings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sofa_softctl.bridge.config.robot import RobotConfig
from sofa_softctl.bridge.stream.state import Sample, StreamState
from sofa_softctl.scene.streams import StreamRows
from sofa_softctl.units import together


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
        """Numbers of all sensors, shape (..., n), as those of each."""
        return np.split(numbers, self._ends[:-1], axis=-1) if len(self._ends) else []

    def of(self, samples: Sequence[Sample]) -> Iterator[StreamRows]:
        """The streams; none where there are no samples."""
        if not samples:
            return
        clock = np.array([sample.clock for sample in samples])
        time = np.array([sample.time for sample in samples]) / self.seconds
        unit = together([actuator.unit for actuator in self.robot.actuators])
        for name, of, help in (
            ("target", unit, "What the scene asked for, interpolated, by actuator"),
            ("command", unit, "What was sent, after the limits; NaN: nothing was"),
            ("measured", unit, "Measured positions, NaN where there is none"),
            ("effort", "", "Measured efforts, as the devices measure them"),
            ("age", "s", "Age of the feedback of each device"),
            *(
                [("sensor_age", "s", "Age of the numbers of each sensor")]
                if self.robot.sensors
                else []
            ),
        ):
            values = np.array([getattr(sample, name) for sample in samples])
            yield StreamRows(f"robot.{name}", time, clock, values, of, help)
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
