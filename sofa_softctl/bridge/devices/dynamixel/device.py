"""Dynamixel motors of the X series on one line, protocol 2.0."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Literal

import numpy as np
from typing_extensions import override

from sofa_softctl.bridge.device import Capabilities, ChannelSetup, Command, Device, Feedback
from sofa_softctl.bridge.devices.dynamixel import registers as table
from sofa_softctl.bridge.devices.dynamixel.bus import Bus, answer_length
from sofa_softctl.bridge.devices.dynamixel.motors import Motors, Setup
from sofa_softctl.bridge.devices.dynamixel.reading import Reading
from sofa_softctl.errors import (
    ConfigError,
    DeviceError,
    DeviceFailedError,
    DeviceOpenError,
    DeviceTimeoutError,
)

ADAPTERS = "/sys/bus/usb-serial/devices"
"""Folder of Linux with the settings of adapters with FTDI's chip."""


def latency_note(port: str, adapters: str = ADAPTERS) -> str:
    """Return a sentence on a latency timer above 1 ms, or "".

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


_IDLE_INTERVAL = 0.02
"""Interval between two readings before the first command [s]."""
_FIRST_READ_TIMEOUT = 0.2
"""Timeout of reading the positions at which the torque is switched on [s]."""


class DynamixelDevice(Device):
    """Dynamixel motors; channels are their ids, values are counts, 4096 a turn.

    After each command all motors are asked where they are and which goal they have: a command is
    acknowledged when every motor has taken it. The torque is switched off when the bus is opened,
    and on, at the present position, by the first command. Feedback has currents in mA as efforts
    (the load in 0.1 % where a motor measures none) and the signal `velocity` in count/s.

    Args:
        name: Name of its table in the configuration file.
        port: Serial port of the adapter, such as '/dev/ttyUSB0'.
        baud_rate: Rate of the line, set in the motors [bit/s].
        model: Family of the motors, such as 'xl330', or "" for any known one.
        mode: 'extended': many turns; 'position': one turn, with the limits in the motor; 'current':
            many turns, with a limited current.
        current_limit: Greatest current in the mode 'current' [mA]; 0: the motor's own limit.
        return_delay: Time before a motor answers [s].
        fast_read: Whether motors answer in one packet: from firmware 45, in the 330 series 46.
        watchdog: Silence after which the motors stop by themselves [s], in steps of 0.02.
        on_stop: 'hold' the position with torque, or 'release' the torque.
        answer_timeout: Longest silence of a motor [s].
    """

    identity = ("port",)
    quantities = ("length", "angle")
    modules = ("dynamixel_sdk", "serial")

    def __init__(
        self,
        name: str,
        *,
        port: str,
        baud_rate: int = 1_000_000,
        model: str = "",
        mode: Literal["extended", "position", "current"] = "extended",
        current_limit: float = 0.0,
        return_delay: float = 0.0,
        fast_read: bool = False,
        watchdog: float = 0.1,
        on_stop: Literal["hold", "release"] = "hold",
        answer_timeout: float = 0.1,
    ) -> None:
        super().__init__(name)
        self.port, self.baud_rate, self.model, self.mode = port, baud_rate, model, mode
        self.current_limit, self.return_delay = current_limit, return_delay
        self.fast_read, self.on_stop, self.answer_timeout = fast_read, on_stop, answer_timeout
        self._ticks = round(watchdog / table.WATCHDOG_UNIT)
        self._check_options()
        self._where = f"device '{name}', port {port}"
        self._bus: Bus | None = None
        self._reading: Reading | None = None
        self._state = "closed"

    def _check_options(self) -> None:
        for option, value, valid in (
            ("mode", self.mode, table.MODES),
            ("on_stop", self.on_stop, ("hold", "release")),
            ("model", self.model, ("", *table.FAMILIES)),
        ):
            if value not in valid:
                raise ConfigError(f"{option} = '{value}': expected one of {', '.join(valid)}")
        if not 1 <= self._ticks <= 127:
            raise ConfigError("watchdog: expected 0.02 to 2.54 s")
        if not 0.0 <= self.return_delay <= 508e-6:
            raise ConfigError("return_delay: expected 0 to 0.000508 s")
        if self.current_limit and self.mode != "current":
            raise ConfigError("current_limit needs mode = 'current': other modes limit none")

    def open(self, channels: Sequence[ChannelSetup]) -> Capabilities:
        """Connect, check and set up the motors; switch the torque off."""
        self._check_channels(channels)
        self._bus = Bus(self.port, self.baud_rate)
        try:
            setup = Setup(self._bus, self._where, channels)
            motors = setup.find(self.model)
            setup.configure(channels, self.mode, self.return_delay, self.current_limit)
            self._channels = tuple(channels)
            self._low = np.array([math.ceil(channel.low) for channel in channels])
            self._high = np.array([math.floor(channel.high) for channel in channels])
            self._names = {channel.number: channel.name for channel in channels}
            self._ids = list(self._names)
            self._reading = Reading(self._where, self._names, motors.current_units)
            self._read_positions(self._bus, self._reading)
        except DeviceError:
            self.close()
            raise
        self._state = "ready"
        return self._capabilities(motors)

    def _check_channels(self, channels: Sequence[ChannelSetup]) -> None:
        if not channels:
            raise DeviceOpenError(f"{self._where}: no actuator uses it.")
        low, high = self._range()
        for channel in channels:
            label = f"{self._where}: channel {channel.number} of actuator '{channel.name}'"
            if not 0 <= channel.number <= 252:
                raise DeviceOpenError(f"{label}: ids of motors go from 0 to 252.")
            if not low <= channel.low <= channel.high <= high:
                raise DeviceOpenError(
                    f"{label}: it may go from {channel.low:g} to {channel.high:g}, mode = "
                    f"'{self.mode}' from {low} to {high} counts. Change its map or its position."
                )
            if math.ceil(channel.low) > math.floor(channel.high):
                raise DeviceOpenError(
                    f"{label}: there is no count from {channel.low:g} to {channel.high:g}. Change "
                    "its map or its position."
                )

    def _range(self) -> tuple[int, int]:
        if self.mode == "position":
            return 0, table.COUNTS_PER_TURN - 1
        return -table.TURNS_MAX, table.TURNS_MAX

    def _capabilities(self, motors: Motors) -> Capabilities:
        low, high = self._range()
        note = latency_note(self.port)
        return Capabilities(
            description=f"{len(self._ids)} Dynamixel motors ({motors.family}, firmware "
            f"{motors.firmware} or newer) at {self.baud_rate} bit/s on {self.port}",
            unit="count",
            resolution=1.0,
            range=(float(low), float(high)),
            rate_max=0.5 / self.exchange_time(),
            watchdog=self._ticks * table.WATCHDOG_UNIT,
            acknowledges=True,
            measures_effort=True,
            notes=(f"device '{self.name}': {note}",) if note else (),
        )

    def exchange_time(self) -> float:
        """Return the time of a command and its answers on the line [s].

        Half of it is left to the motors, the adapter and jitter: `Capabilities.rate_max`.
        """
        n = max(1, len(self._ids))
        answers = answer_length(table.MOTION.size, n, fast=self.fast_read)
        length = 14 + 5 * n + 14 + n + answers
        pause = self.return_delay * (1 if self.fast_read else n)
        return 10.0 * length / self.baud_rate + pause

    def write(self, command: Command) -> None:
        """Send a command; the first one switches the torque on, at the present position."""
        bus, reading = self._require_open()
        if self._state == "stopped":
            raise DeviceFailedError(f"{self._where} was stopped: open it again.")
        self._collect(bus, reading)
        if self._state == "ready":
            self._start_motors(bus, reading)
        elif monotonic() - self._asked_at > self._ticks * table.WATCHDOG_UNIT:
            reading.wants_state = True  # a watchdog that stopped a motor leaves its goal as it was
        counts = np.clip(command.values.round(), self._low, self._high).astype(int)
        goals = dict(zip(self._ids, counts.tolist(), strict=True))
        self._wait_for_line(bus)
        bus.sync_write(table.GOAL_POSITION, goals)
        reading.command(command.sequence, goals)
        self._request_answers(bus, reading)

    @override
    def read(self) -> Feedback | None:
        if self._bus is None:
            return None
        bus, reading = self._require_open()
        now = monotonic()
        self._collect(bus, reading)
        if self._state == "ready" and now > max(bus.idle_at, self._asked_at + _IDLE_INTERVAL):
            self._request_answers(bus, reading)
        if self._state != "stopped":
            reading.check_silence(now, self.answer_timeout, self.dropped())
        return reading.take_feedback()

    @override
    def dropped(self) -> dict[str, int]:
        return {} if self._bus is None else {"with a wrong checksum": self._bus.damaged}

    @override
    def stop(self) -> None:
        if self._bus is None or self._state != "running":
            self._state = "stopped" if self._state == "ready" else self._state
            return
        bus, reading = self._require_open()
        self._state = "stopped"
        self._wait_for_line(bus)
        if self.on_stop == "release":
            bus.sync_write(table.TORQUE_ENABLE, dict.fromkeys(self._ids, 0))
        elif positions := reading.newest(monotonic() - self.answer_timeout):
            bus.sync_write(table.GOAL_POSITION, positions)

    @override
    def close(self) -> None:
        if self._bus is not None:
            self._bus.close()
        self._bus = self._reading = None
        self._state = "closed"

    def _require_open(self) -> tuple[Bus, Reading]:
        if self._bus is None or self._reading is None:
            raise DeviceFailedError(f"{self._where} is not open.")
        return self._bus, self._reading

    def _start_motors(self, bus: Bus, reading: Reading) -> None:
        """Switch the torque on at the present positions, then the watchdog."""
        positions = self._read_positions(bus, reading)
        self._check_within_limits(positions)
        bus.sync_write(table.GOAL_POSITION, positions)
        bus.sync_write(table.TORQUE_ENABLE, dict.fromkeys(self._ids, 1))
        bus.sync_write(table.BUS_WATCHDOG, dict.fromkeys(self._ids, self._ticks))
        self._state = "running"
        reading.wants_state = True

    def _read_positions(self, bus: Bus, reading: Reading) -> dict[int, int]:
        """Return the present positions of the motors. Waits for their answers."""
        self._wait_for_line(bus)
        start = monotonic()
        self._request_answers(bus, reading)
        while (positions := reading.newest(start)) is None:
            if monotonic() > start + self.exchange_time() + _FIRST_READ_TIMEOUT:
                reading.check_silence(float("inf"), 0.0, self.dropped())
                raise DeviceTimeoutError(f"{self._where}: no positions of the motors.")
            sleep(2e-4)
            self._collect(bus, reading)
        return positions

    def _check_within_limits(self, positions: dict[int, int]) -> None:
        """Check positions: in mode 'position' a motor outside its limits would jump."""
        for channel in self._channels if self.mode == "position" else ():
            position = positions[channel.number]
            if not channel.low <= position <= channel.high:
                raise DeviceFailedError(
                    f"{self._where}: motor {channel.number} '{channel.name}' stands at {position}, "
                    f"outside its limits {channel.low:g} to {channel.high:g}. Turn it by hand."
                )

    def _request_answers(self, bus: Bus, reading: Reading) -> None:
        """Ask all motors for their motion, or for their state after a fault."""
        register = reading.next_register(monotonic())
        bus.sync_read(register, self._ids, fast=self.fast_read, pause=self.return_delay)
        self._asked_at = monotonic()

    def _collect(self, bus: Bus, reading: Reading) -> None:
        for answer in bus.answers():
            reading.answer(answer, monotonic())

    def _wait_for_line(self, bus: Bus) -> None:
        """Wait for the end of the answers: only if commands come faster than `rate_max`."""
        sleep(max(0.0, bus.idle_at - monotonic()))
