"""Channels of devices, from a robot's limits and maps."""

from __future__ import annotations

import numpy as np

from sofa_softctl.bridge.config.robot import ActuatorConfig, RobotConfig
from sofa_softctl.bridge.device import ChannelSetup


def channels(robot: RobotConfig) -> dict[str, tuple[ChannelSetup, ...]]:
    """Return the channels of each device by name, in the order of the robot's actuators.

    A device with only sensors has none.
    """
    return {
        device.name: tuple(
            channel_setup(actuator)
            for actuator in robot.actuators
            if actuator.device == device.name
        )
        for device in robot.devices
    }


def channel_setup(actuator: ActuatorConfig) -> ChannelSetup:
    """Return an actuator's limits in its device's unit; the rate is for the map's largest slope."""
    ends = np.array([actuator.position_min, actuator.position_max])
    low, high = sorted(actuator.map.to_device(ends).tolist())
    rest = float(actuator.map.to_device(np.array(actuator.rest)))
    _, steepest = actuator.map.slope_range(actuator.position_min, actuator.position_max)
    return ChannelSetup(
        number=actuator.channel,
        name=actuator.name,
        low=low,
        high=high,
        rate=actuator.rate * steepest,
        rest=min(max(rest, low), high),
    )
