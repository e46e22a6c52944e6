"""Devices by name: built-in ones, and devices of plugins."""

from __future__ import annotations

from sofa_softctl.base.registry import Registry
from sofa_softctl.bridge.device import Device
from sofa_softctl.errors import ConfigError

DEVICES: Registry[type[Device]] = Registry(
    "device",
    {
        "can": "bridge.devices.can_bus:CanDevice",
        "dynamixel": "bridge.devices.dynamixel.device:DynamixelDevice",
        "loopback": "bridge.devices.loopback:LoopbackDevice",
        "ros2": "bridge.devices.ros2:Ros2Device",
        "rosbridge": "bridge.devices.rosbridge:RosbridgeDevice",
        "serial": "bridge.devices.serial_line:SerialDevice",
        "softrobots": "bridge.devices.softrobots_packets:SoftRobotsDevice",
        "udp": "bridge.devices.udp:UdpDevice",
        "zeromq": "bridge.devices.zeromq:ZeroMqDevice",
    },
    error=ConfigError,
    unknown="there is no device '{name}'.{hint} Known: {known}",  # follows "FILE, line N: "
)
"""Classes of devices, imported on demand."""


def find(name: str) -> type[Device]:
    """Return the device class of a name.

    Raises:
        ConfigError: The name is unknown; the known ones are listed.
    """
    return DEVICES.find(name)
