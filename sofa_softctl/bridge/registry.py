"""Registry of devices: built-in ones, and those of plugins."""

from __future__ import annotations

from pkgutil import resolve_name

from sofa_softctl._internal.late_names import look_further
from sofa_softctl._internal.suggestions import did_you_mean
from sofa_softctl.bridge.device import Device
from sofa_softctl.errors import ConfigError

BUILT_IN = {
    "can": "can_bus:CanDevice",
    "dynamixel": "dynamixel.device:DynamixelDevice",
    "loopback": "loopback:LoopbackDevice",
    "ros2": "ros2:Ros2Device",
    "rosbridge": "rosbridge:RosbridgeDevice",
    "serial": "serial_line:SerialDevice",
    "softrobots": "softrobots_packets:SoftRobotsDevice",
    "udp": "udp:UdpDevice",
    "zeromq": "zeromq:ZeroMqDevice",
}
"""Devices of the folder `devices`: name, and file:class, imported when it is asked for."""

devices: dict[str, type[Device] | str] = {
    name: f"sofa_softctl.bridge.devices.{home}" for name, home in BUILT_IN.items()
}
"""Registered devices: the class, or where it is."""


def find(name: str) -> type[Device]:
    """The class of that name.

    Raises:
        ConfigError: There is none; the known ones are listed.
    """
    if name not in devices:
        look_further()
    if name not in devices:
        raise ConfigError(
            f"there is no device '{name}'.{did_you_mean(name, devices)} "
            f"Known: {', '.join(sorted(devices))}"
        )
    found = devices[name]
    if isinstance(found, str):
        found = devices[name] = resolve_name(found)
    return found
