"""Nodes on a CAN bus, with one or several channels per frame, by python-can."""

from __future__ import annotations

import errno
import math
from collections import Counter
from collections.abc import Sequence
from time import monotonic, sleep
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.bridge.device import (
    Capabilities,
    ChannelSetup,
    Command,
    Device,
    Feedback,
    explain_silence,
)
from sofa_softctl.bridge.devices.can_frames import FrameMap
from sofa_softctl.errors import (
    ConfigError,
    DeviceError,
    DeviceFailedError,
    DeviceOpenError,
    DeviceTimeoutError,
    DeviceUnavailableError,
)

_BUS_OFF = 0x40
"""Class of error frames of Linux: the controller is off the bus (linux/can/error.h)."""
_FRAME_BITS = 67.0
"""Bits of a frame without data: header, CRC, end, pause, and a fifth more for stuffing."""
_LISTEN_TIMEOUT = 0.2
"""Timeout of the first feedback, of nodes that send it on their own [s]."""
_READ_MAX = 1000
"""Greatest number of frames per `read`."""


class CanDevice(Device):
    """Nodes that take values in frames of 8 bytes at most.

    Channel c is at place `c % per_frame` of the frame with id `command_id + c // per_frame`. A
    frame holds one value a place, in `format`, and where `sequence` is true two more bytes: the
    number of the command, modulo 2^16, little-endian. Feedback has the same form, with ids from
    `feedback_id` on; its number belongs to the last command that the node accepted.

    Args:
        name: Name of its table in the configuration file.
        interface: Interface of python-can, such as 'socketcan', 'virtual' or 'udp_multicast'.
        channel: Channel of the interface, such as 'can0'.
        bitrate: Rate of the bus [bit/s]; 0: unknown. It bounds the rate of commands; interfaces
            that set the rate themselves get it. SocketCAN's is set by `ip link`.
        command_id: Id of the first command frame.
        feedback_id: Id of the first feedback frame; -1: there is none.
        stop_id: Id of the frame that stops all nodes; -1: there is none.
        stop_data: Data of that frame, in hexadecimal.
        format: Format of a value, as in Python's `struct`: '<f', '<i', '<h', '>h', ...
        per_frame: Values in a frame.
        sequence: Whether frames end with the number of the command.
        extended: Whether ids have 29 bits.
        unit: Unit of the values, for messages.
        watchdog: Silence after which the nodes stop by themselves [s]; 0: they do not.
        answer_timeout: Longest silence of a node with feedback while it gets commands [s].
    """

    identity = ("interface", "channel", "command_id")
    modules = ("can",)

    def __init__(
        self,
        name: str,
        *,
        interface: str = "socketcan",
        channel: str = "can0",
        bitrate: int = 0,
        command_id: int,
        feedback_id: int = -1,
        stop_id: int = -1,
        stop_data: str = "",
        format: str = "<f",
        per_frame: int = 1,
        sequence: bool = False,
        extended: bool = False,
        unit: str = "",
        watchdog: float = 0.0,
        answer_timeout: float = 0.5,
    ) -> None:
        super().__init__(name)
        self.interface, self.channel, self.bitrate = interface, channel, bitrate
        self.command_id, self.feedback_id, self.stop_id = command_id, feedback_id, stop_id
        self.frames = FrameMap(format, per_frame, sequence)
        self.extended, self.unit, self.watchdog = extended, unit, watchdog
        self.answer_timeout = answer_timeout
        try:
            self.stop_data = bytes.fromhex(stop_data)
        except ValueError as error:
            raise ConfigError(f"stop_data: expected hexadecimal, got '{stop_data}'") from error
        self._where = f"device '{name}', {interface} {channel}"
        self._bus: Any = None

    @override
    def open(self, channels: Sequence[ChannelSetup]) -> Capabilities:
        self._numbers = [channel.number for channel in channels]
        places = self.frames.map_frames(channels, self._where)
        self._check_ids(places)
        limits = [self.frames.clip_limits(channel, self._where) for channel in channels]
        self._low, self._high = np.array(limits).reshape(-1, 2).T
        self._bus = self._connect()
        self._places, self._positions = places, dict[int, float]()
        self._stopped, self._owed = "", dict[int, float]()
        self._dropped: Counter[str] = Counter()
        self._first = self._sent = -1
        self._taken = dict[int, int]()
        self._listened = self._listen()
        measures = len(self._positions) == len(channels)
        notes = [] if self.watchdog else [_NO_WATCHDOG]
        if self.feedback_id >= 0 and not measures:
            notes.append(_NO_POSITIONS)
        low, high = self.frames.limits()
        frames = len(places) * (2 if self.feedback_id >= 0 else 1)
        bits = _FRAME_BITS + 9.6 * self.frames.length
        return Capabilities(
            description=f"nodes {', '.join(f'0x{self.command_id + f:X}' for f in places)} on "
            f"{self.interface} {self.channel}",
            unit=self.unit,
            resolution=self.frames.resolution(channels),
            range=(low, high),
            rate_max=0.5 * self.bitrate / (bits * max(1, frames)) if self.bitrate else math.inf,
            watchdog=self.watchdog or None,
            acknowledges=self.frames.sequence and self.feedback_id >= 0,
            measures=measures,
            measures_effort=False,
            notes=tuple(notes),
        )

    @override
    def write(self, command: Command) -> None:
        self._require_open()
        clipped = np.clip(command.values, self._low, self._high)  # rounding must not pass a limit
        values = dict(zip(self._numbers, clipped.tolist(), strict=True))
        self._sent = command.sequence
        self._first = command.sequence if self._first < 0 else self._first
        now = monotonic()
        for frame, numbers in self._places.items():
            data = self.frames.pack([values[number] for number in numbers], command.sequence)
            self._send(self.command_id + frame, data)
            if self.feedback_id >= 0:
                self._owed.setdefault(frame, now)

    @override
    def read(self) -> Feedback | None:
        if self._bus is None:
            return None
        arrived = sum(self._store_frame(message) for message in self._receive()) + self._listened
        self._listened = 0
        now = monotonic()
        for frame, since in self._owed.items():
            if now - since > self.answer_timeout:
                raise DeviceTimeoutError(
                    f"{self._where}: no frame 0x{self.feedback_id + frame:X} for "
                    f"{self.answer_timeout:g} s. "
                    f"{explain_silence(self._dropped, _IS_IT_ON)}"
                )
        if not arrived:
            return None
        acknowledged = None
        if self.frames.sequence and len(self._taken) == len(self._places):
            acknowledged = min(self._taken.values())
        return Feedback(now, dict(self._positions), acknowledged=acknowledged)

    @override
    def dropped(self) -> dict[str, int]:
        return dict(self._dropped)

    def stop(self) -> None:
        """Send the stop frame; without a `stop_id` nodes stay at the last values."""
        if self._bus is not None and self.stop_id >= 0:
            self._send(self.stop_id, self.stop_data)
        self._owed = {}

    @override
    def close(self) -> None:
        bus, self._bus = self._bus, None
        if bus is not None:
            try:
                bus.shutdown()
            except Exception:  # an adapter that is gone: there is nothing left to release
                pass

    def _listen(self) -> int:
        """Wait for the first feedback of all nodes; return the number of frames."""
        end, arrived = monotonic() + _LISTEN_TIMEOUT, 0
        channel_count = len(self._numbers) if self.feedback_id >= 0 else 0
        try:
            while len(self._positions) < channel_count and monotonic() < end:
                arrived += sum(self._store_frame(message) for message in self._receive())
                sleep(1e-3)
        except DeviceError:
            self.close()
            raise
        return arrived

    def _check_ids(self, places: dict[int, list[int]]) -> None:
        id_max = 0x1FFFFFFF if self.extended else 0x7FF
        ids = [self.command_id + frame for frame in places]
        if self.feedback_id >= 0:
            ids += [self.feedback_id + frame for frame in places]
        if self.stop_id >= 0:
            ids.append(self.stop_id)
        if len(set(ids)) < len(ids):
            raise DeviceOpenError(
                f"{self._where}: two frames have one id: {', '.join(f'0x{i:X}' for i in ids)}. "
                "Move command_id, feedback_id or stop_id."
            )
        for identifier in ids:
            if not 0 <= identifier <= id_max:
                raise DeviceOpenError(
                    f"{self._where}: the id 0x{identifier:X} does not fit: 0 to 0x{id_max:X}"
                    f"{'' if self.extended else ', or set extended = true'}."
                )

    def _connect(self) -> Any:
        """Open the bus of python-can.

        Raises:
            DeviceUnavailableError: python-can or the kernel lacks support.
            DeviceOpenError: The interface or channel is missing or down.
        """
        try:
            import can
        except ImportError as error:
            from sofa_softctl.base.extras import install_command

            raise DeviceUnavailableError(
                f"the Python package python-can is not installed: {install_command('hardware')}"
            ) from error
        sets_rate = self.bitrate and self.interface != "socketcan"
        rate: dict[str, Any] = {"bitrate": self.bitrate} if sets_rate else {}
        try:
            return can.Bus(
                interface=self.interface, channel=self.channel, ignore_config=True, **rate
            )
        except NotImplementedError as error:
            raise DeviceOpenError(
                f"{self._where}: python-can has no interface '{self.interface}': {error}"
            ) from error
        except ImportError as error:
            raise DeviceUnavailableError(f"{self._where}: {error}") from error
        except (OSError, ValueError, can.CanError) as error:
            raise self._open_error(error) from error

    def _open_error(self, error: Exception) -> DeviceError:
        number = getattr(error, "errno", None) or getattr(error, "error_code", None)
        if number in (errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT):
            return DeviceUnavailableError(
                f"{self._where}: this kernel has no SocketCAN: sudo modprobe can_raw. Without an "
                "adapter, interface = 'virtual' sends to this process alone."
            )
        rate = self.bitrate or 500000
        if number == errno.ENODEV:
            return DeviceOpenError(
                f"{self._where}: there is no CAN interface {self.channel}. Plug the adapter in, "
                f"then sudo ip link set {self.channel} up type can bitrate {rate}"
            )
        if number == errno.ENETDOWN:
            return DeviceOpenError(
                f"{self._where}: {self.channel} is down: "
                f"sudo ip link set {self.channel} up type can bitrate {rate}"
            )
        return DeviceOpenError(f"{self._where}: {error}")

    def _require_open(self) -> Any:
        if self._bus is None:
            raise DeviceFailedError(f"{self._where} is not open.")
        return self._bus

    def _send(self, identifier: int, data: bytes) -> None:
        import can

        message = can.Message(arbitration_id=identifier, data=data, is_extended_id=self.extended)
        try:
            self._require_open().send(message, timeout=0)
        except (can.CanError, OSError) as error:
            number = getattr(error, "errno", None) or getattr(error, "error_code", None)
            full = number in (errno.ENOBUFS, errno.EAGAIN) or isinstance(error, can.CanTimeoutError)
            if full or "buffer full" in str(error).lower() or "Could not send" in str(error):
                raise DeviceTimeoutError(
                    f"{self._where}: the queue for frames is full: nobody acknowledges them. Is a "
                    "node on, at the same bit rate, and the line terminated?"
                ) from error
            raise DeviceFailedError(f"{self._where}: {error}") from error

    def _receive(self) -> list[Any]:
        """Return the frames since the last call."""
        import can

        frames: list[Any] = []
        try:
            while len(frames) < _READ_MAX and (message := self._bus.recv(timeout=0)) is not None:
                frames.append(message)
        except (can.CanError, OSError) as error:
            raise DeviceFailedError(f"{self._where}: {error}") from error
        return frames

    def _store_frame(self, message: Any) -> bool:
        """Store a frame; return True if it was feedback."""
        if message.is_error_frame:
            if message.arbitration_id & _BUS_OFF:
                raise DeviceFailedError(
                    f"{self._where}: the controller is off the bus, after too many errors: check "
                    f"bit rate and cable, then sudo ip link set {self.channel} type can restart"
                )
            return False
        frame = message.arbitration_id - self.feedback_id
        numbers = self._places.get(frame)
        if self.feedback_id < 0 or numbers is None or message.is_extended_id is not self.extended:
            return False
        if len(message.data) != self.frames.length:
            self._dropped[f"not of {self.frames.length} bytes"] += 1
            return False
        values, taken = self.frames.unpack(bytes(message.data))
        if not np.isfinite(values).all():
            self._dropped["with NaN or infinite numbers"] += 1
            return False
        self._owed.pop(frame, None)
        self._positions.update(zip(numbers, values, strict=True))
        if taken is not None and self._sent >= 0:
            number = self._sent - (self._sent - taken) % 2**16
            if number >= self._first:  # else from before it was opened
                self._taken[frame] = number
        return True


_IS_IT_ON = "Is its node on, and at the bus's bit rate?"
_NO_POSITIONS = (
    "its nodes sent no feedback while it was opened. Let them send their feedback frames on their "
    "own, such as every 50 ms."
)
_NO_WATCHDOG = "its nodes are said to have no watchdog. Where they have one, give it as `watchdog`."
