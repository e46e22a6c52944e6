"""The device process as the scene's process sees it."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import numpy as np

from sofa_softctl.bridge.config.robot import RobotConfig
from sofa_softctl.bridge.device import Capabilities
from sofa_softctl.bridge.stream.state import Sample, Statistics, StreamState


class Stream:
    """Starts the device process of a robot, sends it targets, and reads what it did.

    A context manager that closes it. The process opens the devices, enforces all limits just
    before the wire, and brings the robot to rest by itself when targets stop coming or this
    process ends, in whatever way.

    Args:
        robot: The robot's configuration.
        dry_run: Whether loopback devices stand in for all devices: nothing moves.

    Raises:
        DeviceError: A device cannot be opened.
        ConfigError: What a device said when it was opened does not fit the configuration.
    """

    def __init__(self, robot: RobotConfig, *, dry_run: bool = False) -> None:
        self.robot, self.dry_run = robot, dry_run
        self.capabilities: dict[str, Capabilities] = {}
        """Of each device, by its name."""
        self.state = StreamState.OPENING
        """State when `poll` was last called."""
        self.reason = ""
        """Why the robot is held, returning, rested or stopped; empty: nothing is wrong."""
        raise NotImplementedError

    def send(self, time: float, target: np.ndarray) -> None:
        """Send the target of one step. Does not wait.

        Args:
            time: Time of the scene at which it holds [s], later than the last one's.
            target: One value an actuator, in the order of `robot.actuators` [actuators' units].
                What is wrong with it (NaN, out of range, a jump) is found by the device process.

        Raises:
            DeviceError: The device process ended, or stopped the robot; the message has `reason`.
        """
        raise NotImplementedError

    def poll(self) -> list[Sample]:
        """What the device process did since the last call, oldest first. Does not wait."""
        raise NotImplementedError

    def stop(self, reason: str) -> None:
        """Emergency stop: all devices stop where they are, now."""
        raise NotImplementedError

    def finish(self) -> Statistics:
        """Bring the robot to its rest pose, stop and close the devices, end the process.

        Takes as long as the limits need to reach the rest pose, and no longer than a bound that
        follows from them. After a fault or a stop it ends at once. A second call gives the same.

        Raises:
            DeviceError: The process did not end in time, or a device failed on the way.
        """
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.finish()
