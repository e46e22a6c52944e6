"""SoftRobots' component that sends bytes to a microcontroller."""

from __future__ import annotations

import os
from time import monotonic, sleep
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np
from typing_extensions import override

from sofa_softctl.base.serial_port import HEADER, SerialPort, packet
from sofa_softctl.errors import DeviceError, DeviceTimeoutError
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data import reading
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Bool, Integers, Text, UInt
from sofa_softctl.runtime.core.event import Event
from sofa_softctl.runtime.helper import message

_REDUNDANCY_MAX = 1000
"""Largest number of packets per step that a line can carry [-]."""
_READ_TIMEOUT = 0.02
"""Timeout of reading a byte [s], as in SOFA."""
_PORT_USERS: WeakValueDictionary[str, SerialPortBridgeGeneric] = WeakValueDictionary()
"""Component of this process that uses a port, by the port's path."""
_WITHOUT_DEVICES = "_softctl_without_devices"
"""Attribute of the root of a scene that is a copy and must not send anything."""


class Bytes(Integers):
    """A list of integers from 0 to 255; SOFA takes others modulo 256.

    Others are clipped, with one warning; a list with NaN or text is rejected, and the previous list
    stays.
    """

    def limit(self, owner: Any) -> int:
        """Return the largest number."""
        del owner
        return 255

    @override
    def convert(self, value: Any, owner: Any) -> np.ndarray:
        try:
            numbers = super().convert(value, owner)
            if numbers.size and not 0 <= numbers.min() <= numbers.max() <= self.limit(owner):
                raise ValueError(f"not from 0 to {self.limit(owner)}")
        except (ValueError, TypeError):
            warned_names = owner.__dict__.setdefault("_warned_names", set())
            if self.name in warned_names:
                return self.salvage(value, owner, owner._data[self.name]._value)
            warned_names.add(self.name)
            raise
        return numbers

    @override
    def salvage(self, value: Any, owner: Any, present: Any) -> np.ndarray:
        try:
            numbers = reading.numbers(value).ravel()
        except (ValueError, TypeError):
            return present
        if np.isnan(numbers).any():
            return present
        return np.clip(np.rint(numbers), 0, self.limit(owner)).astype(np.int64)

    @override
    def expectation(self, owner: Any) -> str:
        return f"takes a list of whole numbers from 0 to {self.limit(owner)}"

    @override
    def sofa_name(self, owner: Any) -> str:
        return "vector<unsigned char>"


class Values(Bytes):
    """Bytes, or numbers of two bytes if the component is `precise`."""

    def limit(self, owner: Any) -> int:
        """Return the largest number, for two bytes until the component is initialised."""
        return 255 if getattr(owner, "_is_settled", False) and not owner.precise.get() else 65535


class SerialPortBridgeGeneric(Component):
    """Sends bytes to a microcontroller at the end of each step, such as angles of servo motors.

    Without the port the scene runs with a warning. The packet has no checksum, and a board that
    receives no packets does not stop: `softctl run --bridge` streams with limits and a
    watchdog instead.
    """

    category: ClassVar[str] = "controller"

    port = Text("", "Serial port, such as /dev/ttyACM0.", follows="start")
    baudRate = UInt(0, "Rate of the line, in bit/s.", follows="start")
    packetOut = Values(
        [],
        "`size` values to send; up to 255, or with `precise` 65535, and smaller than the header, "
        "so that it can be found.",
        aliases=("sentData",),
    )
    packetIn = Bytes([], "The byte that was received last, or 0.", read_only=True)
    header = Bytes(HEADER, "Byte before the values; with splitPacket also the one between them.")
    size = UInt(0, "Required length of packetOut; with another length sending stops.")
    precise = Bool(False, "Send each value in two bytes, the higher one first.")
    splitPacket = Bool(False, "With precise: send the second header in the middle of the bytes.")
    redundancy = UInt(1, "Number of times to send each packet.")
    receive = Bool(False, "Read a byte at the start of each step; waits for up to 20 ms.")
    componentState = Text("Undefined", "Valid, or Invalid: nothing is sent.", read_only=True)

    _is_settled = False
    """True once all Data have the scene's values."""

    def __init__(self, *args: Any, **values: Any) -> None:
        self._port: SerialPort | None = None
        self._has_warned = False
        super().__init__(*args, **values)

    def init(self) -> None:
        """Open the port, and correct invalid Data with warnings."""
        self._connect()
        self._is_settled = True
        self._correct_data()

    def data_changed(self, data: Data) -> None:
        """Correct Data that a scene changes while it runs."""
        super().data_changed(data)
        if self._is_settled and data.name in ("precise", "splitPacket", "header", "redundancy"):
            self._correct_data()

    def _correct_data(self) -> None:
        values = self.packetOut
        if not values.hasParent() and values.isSet():
            values.assign(values.get().tolist(), values.where)
        if self.splitPacket.get() and not self.precise.get():
            message.warning(
                self, "Option splitPacket should only be used in precise mode. It is switched off."
            )
            self.splitPacket.set(False)
        if len(self.header.get()) < (2 if self.splitPacket.get() else 1):
            message.warning(self, "Problem with header size. Set default [255,254].")
            self.header.set(np.array(HEADER))
        if not 1 <= self.redundancy.get() <= _REDUNDANCY_MAX:
            message.warning(
                self, "No valid number of packets set in redundancy, set automatically to 1."
            )
            self.redundancy.set(1)

    def handle(self, event: Event) -> None:
        """Read at the start of a step, send at its end."""
        if self._port is None or self._context is None or not self.listening.get():
            return
        if self.componentState.get() != "Valid":
            return
        try:
            if event["type"] == "AnimateBeginEvent" and self.receive.get():
                self._receive(self._port)
            elif event["type"] == "AnimateEndEvent" and self._has_expected_size():
                self._send(self._port)
        except DeviceTimeoutError as error:
            if not self._has_warned:
                self._has_warned = True
                message.warning(self, f"A packet was not sent, and others may not be: {error}")
        except DeviceError as error:
            message.warning(self, f"Nothing is sent any more: {error}")
            self.componentState.set("Invalid")
            self.cleanup()

    def cleanup(self) -> None:
        """Close the port."""
        port, self._port = self._port, None
        if port is not None:
            port.close()

    def _connect(self) -> None:
        self.cleanup()
        self.componentState.set("Invalid")
        assert self._context is not None
        if _WITHOUT_DEVICES in self._context.getRoot().__dict__:
            return
        path = os.path.realpath(self.port.get())
        if path in _PORT_USERS:
            _PORT_USERS[path]._release_port(self)
        try:
            self._port = SerialPort(self.port.get(), self.baudRate.get())
        except DeviceError as error:
            message.warning(self, f"No serial port found: {error} The scene runs without it.")
            return
        _PORT_USERS[path] = self
        self.componentState.set("Valid")
        if self.printLog.get():
            message.info(self, "Serial port found")

    def _release_port(self, successor: Component) -> None:
        """Leave the port to a later component, usually of the reloaded scene."""
        if self._port is not None:
            self.cleanup()
            self.componentState.set("Invalid")
            message.info(self, f"{successor.describe()} uses the port from now on.")

    def _has_expected_size(self) -> bool:
        """Return True if packetOut has the length that the microcontroller expects."""
        size, count = self.size.get(), len(self.packetOut.get())
        if count == size:
            return True
        if not self.size.isSet():
            message.warning(self, "Size not set.")
        message.warning(
            self,
            f"packetOut has {count} values, but size is {size}. Change one of them; look what the "
            "microcontroller in the robot expects. Nothing is sent any more (state Invalid).",
        )
        self.componentState.set("Invalid")
        return False

    def _send(self, port: SerialPort) -> None:
        byte_max = 65535 if self.precise.get() else 255  # an array may have been written in place
        data = packet(
            np.clip(self.packetOut.get(), 0, byte_max).tolist(),
            self.header.get().tolist(),
            precise=self.precise.get(),
            split=self.splitPacket.get(),
        )
        port.discard_input()
        port.write(data * self.redundancy.get())

    def _receive(self, port: SerialPort) -> None:
        """Read the first byte; `_send` discards the rest."""
        end = monotonic() + _READ_TIMEOUT
        while not (received := port.read()) and monotonic() < end:
            sleep(0.0005)
        self.packetIn.set(np.array([received[0] if received else 0]))
