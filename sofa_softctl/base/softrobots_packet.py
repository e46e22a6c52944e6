"""Packets of SoftRobots' SerialPortBridgeGeneric: a header, then the values."""

from __future__ import annotations

from collections.abc import Sequence

HEADER = (255, 254)
"""Bytes before the first, and with `split` the second part."""


def packet(values: Sequence[int], header: Sequence[int], *, precise: bool, split: bool) -> bytes:
    """The bytes of a packet.

    Args:
        values: One a channel: 0 to 255, with `precise` 0 to 65535.
        header: One byte, or two with `split`.
        precise: Whether a value has two bytes, the higher one first.
        split: Whether the second header stands in the middle of the bytes of the values, also where
            that is within a value; with `precise` alone.
    """
    content = b"".join(value.to_bytes(2 if precise else 1, "big") for value in values)
    if split:
        half = len(values)
        content = content[:half] + bytes([header[1]]) + content[half:]
    return bytes([header[0]]) + content
