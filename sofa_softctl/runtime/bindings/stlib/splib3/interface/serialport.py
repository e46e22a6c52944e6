"""Serial ports of this machine."""

from __future__ import annotations

import importlib

import Sofa

_SENDER = "splib3.interface.serialport"


def getDevicePort(entry: str, method: str = "manufacturer") -> str | None:
    """Return the port of a device, such as '/dev/ttyACM0'.

    Args:
        entry: Text in the device's description, such as 'Arduino'.
        method: Attribute with the text: 'manufacturer', 'description' or 'serial_number'.

    Returns:
        The port, or None, with a message.
    """
    if method not in ("manufacturer", "description", "serial_number"):
        raise ValueError(f"method is manufacturer, description or serial_number, got '{method}'.")
    try:
        list_ports = importlib.import_module("serial.tools.list_ports")
    except ImportError:
        Sofa.msg_error(_SENDER, "Serial ports need pyserial: pip install pyserial.")
        return None
    ports = [port for port in list_ports.comports() if entry in (getattr(port, method) or "")]
    if not ports:
        Sofa.msg_error(_SENDER, f"No serial port has the {method} '{entry}'.")
        return None
    if len(ports) > 1:
        Sofa.msg_warning(_SENDER, f"{len(ports)} ports have the {method} '{entry}': the first.")
    device: str = ports[0].device
    Sofa.msg_info(_SENDER, f"{device}: {ports[0].description}, of {ports[0].manufacturer}.")
    return device
