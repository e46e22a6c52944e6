"""Firmware that takes the packets of SoftRobots' SerialPortBridgeGeneric.

The packets have no checksum, no numbers and no answer, and such firmware has no watchdog: its
motors keep the last value when this computer stops. `type = "serial"` has all of these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from time import monotonic, sleep

import numpy as np
from typing_extensions import override

from sofa_softctl.base.serial_port import HEADER, SerialPort, packet
from sofa_softctl.bridge.device import Capabilities, ChannelSetup, Command, Device, Feedback
from sofa_softctl.errors import DeviceFailedError, DeviceOpenError


class SoftRobotsDevice(Device):
    """A microcontroller that runs a scene of SoftRobots already, such as its tripod.

    A channel is an index in the packet, from 0. The signal `packet_in` has the
    newest byte. Values are whole: from 0 to header - 1, or to 65535 with `precise`.

    Args:
        name: Name of its table in the configuration file.
        port: The serial port, such as '/dev/ttyACM0'.
        baud_rate: Rate of the line [bit/s].
        size: Number of values in a packet, as the firmware expects; 0 for up to the last channel.
        header: Byte that begins a packet.
        second_header: Byte in its middle, with `split_packet`.
        precise: Whether a value has two bytes, the higher one first.
        split_packet: Whether the second header stands in the middle; only with `precise`.
        redundancy: Number of times that each packet is sent.
        fill: Value of packet entries that no actuator uses.
        settle: Waiting time after the port was opened, as an Arduino restarts then [s].
    """

    identity = ("port",)
    modules = ("serial",)

    def __init__(
        self,
        name: str,
        *,
        port: str,
        baud_rate: int = 115_200,
        size: int = 0,
        header: int = HEADER[0],
        second_header: int = HEADER[1],
        precise: bool = False,
        split_packet: bool = False,
        redundancy: int = 1,
        fill: int = 0,
        settle: float = 2.0,
    ) -> None:
        super().__init__(name)
        self.port, self.baud_rate, self.size = port, baud_rate, size
        self.header = (header, second_header)
        self.precise, self.split_packet = precise, split_packet
        self.redundancy, self.fill, self.settle = redundancy, fill, settle
        self._where = f"device '{name}' at {port}"
        self._port: SerialPort | None = None
        self._stopped = False

    @override
    def open(self, channels: Sequence[ChannelSetup]) -> Capabilities:
        self.close()
        self._check_options()
        self._numbers = [channel.number for channel in channels]
        self._size = self.size or max(self._numbers, default=-1) + 1
        for channel in channels:
            self._check(channel)
        self._low = np.array([math.ceil(channel.low) for channel in channels])
        self._high = np.array([math.floor(channel.high) for channel in channels])
        self._port = SerialPort(self.port, self.baud_rate)
        self._stopped = False
        sleep(self.settle)
        self._port.discard_input()
        length = self.redundancy * len(self._packet([0] * self._size))
        return Capabilities(
            description=f"packets of SoftRobots at {self.port}, {self.baud_rate} bit/s, of "
            f"{self._size} values{', precise' if self.precise else ''}",
            unit="count",
            resolution=1.0,
            range=(0.0, float(self._value_max)),
            rate_max=self.baud_rate / 10.0 / length,
            watchdog=None,
            acknowledges=False,
            measures=False,
            measures_effort=False,
            notes=(
                f"{self._where}: packets of SoftRobots have no checksum, no answer and no watchdog."
                " A damaged packet moves motors to a wrong place, and they do not stop by "
                "themselves when this computer does: have a switch for their power at hand.",
            ),
        )

    @override
    def write(self, command: Command) -> None:
        port = self._require_open()
        if self._stopped or not self._size:
            return
        values = [self.fill] * self._size
        counts = np.clip(np.rint(command.values), self._low, self._high).astype(int)
        for number, value in zip(self._numbers, counts.tolist(), strict=True):
            values[number] = value
        port.write(self._packet(values) * self.redundancy)

    def read(self) -> Feedback | None:
        """Return the newest byte as feedback, or None."""
        data = self._require_open().read()
        if not data:
            return None
        return Feedback(monotonic(), signals={"packet_in": np.array([float(data[-1])])})

    def stop(self) -> None:
        """Send nothing more, so that motors stay at the last value."""
        self._stopped = True

    @override
    def close(self) -> None:
        port, self._port = self._port, None
        if port is not None:
            port.close()

    @property
    def _value_max(self) -> int:
        """Greatest value; a single byte must not equal the header."""
        return 65_535 if self.precise else self.header[0] - 1

    def _packet(self, values: Sequence[int]) -> bytes:
        return packet(values, self.header, precise=self.precise, split=self.split_packet)

    def _require_open(self) -> SerialPort:
        if self._port is None:
            raise DeviceFailedError(f"{self._where} is not open.")
        return self._port

    def _check_options(self) -> None:
        problem = ""
        if self.split_packet and not self.precise:
            problem = "split_packet needs precise = true: SoftRobots splits no other packets"
        elif not all(0 < byte <= 255 for byte in self.header):
            problem = f"header and second_header are bytes from 1 to 255, got {self.header}"
        elif self.redundancy < 1:
            problem = f"redundancy is at least 1, got {self.redundancy}"
        elif not 0 <= self.fill <= self._value_max:
            problem = f"fill is from 0 to {self._value_max}, got {self.fill}"
        elif self.size < 0 or self.settle < 0.0:
            problem = "size and settle are not negative"
        if problem:
            raise DeviceOpenError(f"{self._where}: {problem}.")

    def _check(self, channel: ChannelSetup) -> None:
        prefix = f"{self._where}: actuator '{channel.name}'"
        if not 0 <= channel.number < self._size:
            raise DeviceOpenError(
                f"{prefix} is on channel {channel.number}, but a packet has {self._size} values: "
                f"channels 0 to {self._size - 1}. Is size = {self.size} right?"
            )
        if channel.low < 0.0 or channel.high > self._value_max:
            reason = "" if self.precise else ", below the header"
            raise DeviceOpenError(
                f"{prefix} has the limits {channel.low:g} to {channel.high:g}, but values go from "
                f"0 to {self._value_max}{reason}: give it another map or range of positions."
            )
        if math.ceil(channel.low) > math.floor(channel.high):
            raise DeviceOpenError(
                f"{prefix} has no whole value from {channel.low:g} to {channel.high:g}."
            )
