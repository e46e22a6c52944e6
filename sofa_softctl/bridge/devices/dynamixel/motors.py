"""Search, check and set-up of the motors when a bus is opened."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sofa_softctl.bridge.device import ChannelSetup
from sofa_softctl.bridge.devices.dynamixel import registers as table
from sofa_softctl.bridge.devices.dynamixel.bus import ALERT, Bus
from sofa_softctl.bridge.devices.dynamixel.registers import Register
from sofa_softctl.errors import ConfigError, DeviceOpenError, DeviceTimeoutError

BAUD_RATES = (57600, 115200, 1_000_000, 2_000_000, 3_000_000, 4_000_000, 9600)
"""Rates of X motors, the factory setting first [bit/s]."""
_ATTEMPTS = 3
_FIRMWARE_MIN = 38
"""First firmware of the larger motors with the Bus Watchdog; the 330 series has always had it."""


@dataclass(frozen=True)
class Motors:
    """Motors that answered and are of a known family."""

    family: str
    """Families, for messages."""
    firmware: int
    """Oldest version of the firmware."""
    current_units: dict[int, float]
    """Unit of each motor's current [mA]; 0 if it gives its load in 0.1 %."""


class Setup:
    """Reads and writes single registers; slow, when a bus is opened.

    Args:
        bus: The line.
        label: Device and port, for messages.
        channels: The motors.
    """

    def __init__(self, bus: Bus, label: str, channels: Sequence[ChannelSetup]) -> None:
        self.bus, self.where = bus, label
        self.names = {channel.number: channel.name for channel in channels}

    def find(self, model: str) -> Motors:
        """Ping every motor, and check its family, firmware and errors.

        Args:
            model: Family of all motors, or "" for any known one.

        Raises:
            DeviceOpenError: Motors are missing, of another family, or report a hardware error.
        """
        numbers = {motor: self._ping(motor) for motor in self.names}
        missing = [motor for motor, number in numbers.items() if number is None]
        if missing:
            raise DeviceOpenError(self._who_answers(missing))
        for motor in self.names:  # no answer is needed: it may answer nothing but pings
            self.bus.sdk.write1ByteTxRx(self.bus, motor, table.STATUS_RETURN_LEVEL.address, 2)
        families = {m: self._family(m, number or 0, model) for m, number in numbers.items()}
        firmware = {m: self.read(m, Register(6, 1)) for m in self.names}
        for motor, version in firmware.items():
            if version < _FIRMWARE_MIN and not families[motor].endswith("330"):
                raise DeviceOpenError(
                    f"{self.motor(motor)} has firmware {version}, which has no Bus Watchdog: it "
                    f"would not stop when this computer does. Update it to {_FIRMWARE_MIN} or "
                    "newer with the Dynamixel Wizard."
                )
        for motor in self.names:
            if error := self.read(motor, table.HARDWARE_ERROR):
                raise DeviceOpenError(
                    f"{self.motor(motor)} has shut down: {table.error_text(error)}. Remove the "
                    "cause, then switch its power off and on."
                )
        return Motors(
            " and ".join(sorted(set(families.values()))),
            min(firmware.values(), default=0),
            {m: table.FAMILIES[name].current_unit for m, name in families.items()},
        )

    def motor(self, number: int) -> str:
        """Return the label of a motor, for messages."""
        return f"{self.where}: motor {number} '{self.names.get(number, '')}'"

    def read(self, motor: int, register: Register) -> int:
        """Read a register without sign.

        Raises:
            DeviceTimeoutError: The motor does not answer.
        """
        data, _ = self._repeat(
            motor,
            lambda: self.bus.sdk.readTxRx(self.bus, motor, register.address, register.size),
        )
        return int.from_bytes(bytes(data), "little")

    def write(self, motor: int, register: Register, value: int) -> None:
        """Write a register.

        Raises:
            DeviceTimeoutError: The motor does not answer.
            DeviceOpenError: The motor refuses.
        """
        data = list(value.to_bytes(register.size, "little", signed=value < 0))
        _, error = self._repeat(
            motor,
            lambda: (
                None,
                *self.bus.sdk.writeTxRx(self.bus, motor, register.address, register.size, data),
            ),
        )
        if error & ~ALERT:
            raise DeviceOpenError(
                f"{self.motor(motor)} refuses {value} for its register {register.address}: "
                f"{self.bus.sdk.getRxPacketError(error & ~ALERT)}"
            )

    def set(self, motor: int, register: Register, value: int) -> None:
        """Write a non-volatile register, if it has another value."""
        if self.read(motor, register) != value % 256**register.size:
            self.write(motor, register, value)

    def configure(
        self, channels: Iterable[ChannelSetup], mode: str, return_delay: float, current_limit: float
    ) -> None:
        """Switch torque off, then set mode and limits of every motor, and reset its watchdog.

        Args:
            channels: Limits of each motor [count], [count/s].
            mode: One of `registers.MODES`.
            return_delay: Time before a motor answers [s].
            current_limit: Limit in the mode 'current' [mA]; 0 for the motor's own.
        """
        for channel in channels:
            motor = channel.number
            self.write(motor, table.TORQUE_ENABLE, 0)
            drive = self.read(motor, table.DRIVE_MODE)
            self.set(motor, table.DRIVE_MODE, drive & ~table.UNUSED_DRIVE_BITS)
            self.set(motor, table.OPERATING_MODE, table.MODES[mode])
            self.set(motor, table.RETURN_DELAY, round(return_delay / 2e-6))
            if mode == "position":
                self.set(motor, table.POSITION_MIN, math.ceil(channel.low))
                self.set(motor, table.POSITION_MAX, math.floor(channel.high))
            self.write(motor, table.BUS_WATCHDOG, 0)
            fastest = math.ceil(channel.rate / table.VELOCITY_UNIT) if channel.rate < 5e5 else 0
            self.write(motor, table.PROFILE_ACCELERATION, 0)
            self.write(motor, table.PROFILE_VELOCITY, fastest)
            if current_limit:
                self._limit_current(motor, current_limit)

    def _limit_current(self, motor: int, current: float) -> None:
        number = self.read(motor, Register(0, 2))
        unit = table.FAMILIES[table.family_of(number) or "xm430"].current_unit
        if not unit:
            raise ConfigError(f"{self.motor(motor)} measures no current: leave `current_limit` out")
        self.write(motor, table.GOAL_CURRENT, max(1, round(current / unit)))

    def _ping(self, motor: int) -> int | None:
        """Return the model number of a motor, or None if it does not answer."""
        for _ in range(_ATTEMPTS):
            self.bus.discard()
            number, result, _ = self.bus.sdk.ping(self.bus, motor)
            if result == 0:
                return int(number)
        return None

    def _family(self, motor: int, number: int, model: str) -> str:
        family = table.family_of(number)
        if family is None and model:
            return model
        if family is None or (model and family != model):
            raise DeviceOpenError(
                f"{self.motor(motor)}: expected a motor of the family "
                f"{model or ', '.join(table.FAMILIES)}, got model number {number}, "
                f"{family or 'which is not known here'}. If it has the registers of the X series, "
                "give its family as `model`."
            )
        return family

    def _who_answers(self, missing: list[int]) -> str:
        """Describe the line, for an error on motors that do not answer."""
        which = ", ".join(f"{motor} '{self.names[motor]}'" for motor in missing)
        rate = self.bus.line.baud_rate
        text = f"{self.where}: no answer from motor {which} at {rate} bit/s. "
        other_motors, _ = self.bus.sdk.broadcastPing(self.bus)
        if other_motors:
            ids = ", ".join(map(str, sorted(other_motors)))
            return (
                f"{text}On this line answer: {ids}. Check cables and power, or change the "
                "`channel` of its actuator or the motor's id."
            )
        for other_rate in BAUD_RATES:
            self.bus.line.set_baud_rate(other_rate)
            if other_rate != rate and self._ping(missing[0]) is not None:
                return f"{text}It answers at {other_rate} bit/s: set baud_rate = {other_rate}."
        return f"{text}No motor answers, at any rate: check power, the cable, and the port."

    def _repeat(self, motor: int, ask: Callable[[], tuple[object, int, int]]) -> tuple[bytes, int]:
        """Ask up to three times; return data and error of the answer."""
        for _ in range(_ATTEMPTS):
            self.bus.discard()
            data, result, error = ask()
            if result == 0:
                return bytes(data) if isinstance(data, list) else b"", error
        raise DeviceTimeoutError(
            f"{self.motor(motor)} answered a ping, but not {_ATTEMPTS} requests: a loose cable, or "
            "two motors with one id?"
        )
