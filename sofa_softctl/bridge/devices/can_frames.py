"""Arrangement of channels in CAN frames."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import numpy as np

from sofa_softctl.bridge.device import ChannelSetup
from sofa_softctl.errors import ConfigError, DeviceOpenError

_INTEGERS, _FLOATS = "bBhHiIlLqQ", "fd"


class FrameMap:
    """Packs values of channels into frames.

    Args:
        format: Format of a value in Python's `struct`: byte order and one letter.
        per_frame: Values in a frame.
        sequence: Whether two bytes with the number of the command follow, little-endian.

    Raises:
        ConfigError: The format is not numeric, or has more than 8 bytes.
    """

    def __init__(self, format: str, per_frame: int, sequence: bool) -> None:
        if len(format) != 2 or format[0] not in "<>" or format[1] not in _INTEGERS + _FLOATS:
            raise ConfigError(
                f"format: expected '<' or '>' and a letter of {', '.join(_INTEGERS + _FLOATS)}, as "
                f"in Python's struct, such as '<f' or '<h'; got '{format}'"
            )
        if per_frame < 1:
            raise ConfigError(f"per_frame: expected 1 or more, got {per_frame}")
        self.per_frame, self.sequence = per_frame, sequence
        self._struct = struct.Struct(f"{format[0]}{per_frame}{format[1]}")
        self._whole = format[1] in _INTEGERS
        self._signed = format[1].islower()
        self._single = format[1] == "f"
        self.length = self._struct.size + 2 * sequence
        """Bytes of a frame."""
        if self.length > 8:
            raise ConfigError(
                f"format, per_frame and sequence make frames of {self.length} bytes; CAN has 8"
            )

    def limits(self) -> tuple[float, float]:
        """Return the least and the greatest value."""
        if not self._whole:
            greatest = float(np.finfo(np.float32).max) if self._single else float("inf")
            return -greatest, greatest
        bits = 8 * self._struct.size // self.per_frame
        if self._signed:
            return -(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1.0
        return 0.0, 2.0**bits - 1.0

    def resolution(self, channels: Sequence[ChannelSetup]) -> float:
        """Return the smallest change of a value within the channels' limits."""
        if self._whole:
            return 1.0
        kind = np.float32 if self._single else np.float64
        return max(
            (float(np.spacing(kind(max(abs(c.low), abs(c.high))))) for c in channels), default=0.0
        )

    def clip_limits(self, channel: ChannelSetup, label: str) -> tuple[float, float]:
        """Return the least and greatest value of a frame within a channel's limits.

        Raises:
            DeviceOpenError: No value fits.
        """
        low, high = channel.low, channel.high
        if self._whole:
            low, high = float(math.ceil(low)), float(math.floor(high))
        elif self._single:
            low, high = _round_up_to_single(low), -_round_up_to_single(-high)
        if low > high:
            raise DeviceOpenError(
                f"{label}: actuator '{channel.name}' goes from {channel.low:g} to "
                f"{channel.high:g}, where the format of frames has no value: change its map."
            )
        return low, high

    def map_frames(self, channels: Sequence[ChannelSetup], label: str) -> dict[int, list[int]]:
        """Return the numbers of the channels in each frame, by the frame's number from 0.

        Raises:
            DeviceOpenError: A value of a frame has no channel.
        """
        numbers = {channel.number for channel in channels}
        channels_by_frame = {}
        for frame in sorted({number // self.per_frame for number in numbers}):
            members = [frame * self.per_frame + index for index in range(self.per_frame)]
            missing = [number for number in members if number not in numbers]
            if missing:
                raise DeviceOpenError(
                    f"{label}: a frame holds the channels {members[0]} to {members[-1]}, and "
                    f"no actuator uses {', '.join(map(str, missing))}: add it, or set per_frame."
                )
            channels_by_frame[frame] = members
        return channels_by_frame

    def pack(self, values: Sequence[float], sequence: int) -> bytes:
        """Return the data of a frame."""
        numbers = [round(value) for value in values] if self._whole else values
        tail = struct.pack("<H", sequence % 2**16) if self.sequence else b""
        return self._struct.pack(*numbers) + tail

    def unpack(self, data: bytes) -> tuple[list[float], int | None]:
        """Return the values of a frame, and the number of a command if it has one."""
        values = [float(value) for value in self._struct.unpack(data[: self._struct.size])]
        number = struct.unpack("<H", data[self._struct.size :])[0] if self.sequence else None
        return values, number


def _round_up_to_single(low: float) -> float:
    """Return the least number of single precision that is not below."""
    single = np.float32(low)
    return float(single if float(single) >= low else np.nextafter(single, np.float32(np.inf)))
