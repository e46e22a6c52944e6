"""How long a USB adapter keeps bytes back."""

from __future__ import annotations

import os
from pathlib import Path

ADAPTERS = "/sys/bus/usb-serial/devices"
"""Where Linux has the settings of adapters with FTDI's chip."""


def latency_note(port: str, adapters: str = ADAPTERS) -> str:
    """A sentence on a latency timer above 1 ms, or nothing.

    Args:
        port: The serial port; links such as those in /dev/serial/by-id are followed.
        adapters: Folder with the settings.
    """
    device = os.path.basename(os.path.realpath(port))
    file = Path(adapters, device, "latency_timer")
    try:
        milliseconds = int(file.read_text())
    except (OSError, ValueError):  # another chip, which has none
        return ""
    if milliseconds <= 1:
        return ""
    return (
        f"the latency timer of {device} is {milliseconds} ms: feedback comes up to that much "
        f"late. Set it to 1: echo 1 | sudo tee {file}"
    )
