"""Control table and models of the X series.

Source: ROBOTIS e-Manual, control tables of XL330-M288-T, XL430-W250-T and XM430-W350-T, whose
addresses are the same; emanual.robotis.com/docs/en/dxl/x.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Register:
    """An entry of the control table."""

    address: int
    size: int
    """Bytes, little-endian, two's complement."""


RETURN_DELAY = Register(9, 1)  # 2 us
DRIVE_MODE = Register(10, 1)
OPERATING_MODE = Register(11, 1)
POSITION_MAX, POSITION_MIN = Register(48, 4), Register(52, 4)
TORQUE_ENABLE = Register(64, 1)
STATUS_RETURN_LEVEL = Register(68, 1)
HARDWARE_ERROR = Register(70, 1)
BUS_WATCHDOG = Register(98, 1)  # 20 ms; 0: off; 255: it has stopped the motor
GOAL_CURRENT = Register(102, 2)
PROFILE_ACCELERATION, PROFILE_VELOCITY = Register(108, 4), Register(112, 4)
GOAL_POSITION = Register(116, 4)
PRESENT_POSITION = Register(132, 4)

COUNTS_PER_TURN = 4096
VELOCITY_UNIT = 0.229 * COUNTS_PER_TURN / 60.0
"""Unit of velocities, 0.229 rev/min [count/s]."""
WATCHDOG_UNIT = 0.02
"""Unit of the Bus Watchdog [s]."""
WATCHDOG_ERROR = 255
TURNS_MAX = 256 * COUNTS_PER_TURN - 1
"""Farthest position in the modes with many turns [count]."""
MODES = {"position": 3, "extended": 4, "current": 5}
"""Operating modes: one turn, many turns, many turns with a limited current."""
UNUSED_DRIVE_BITS = 0b1100
"""Bits of the drive mode that are cleared: time-based profiles, and torque on by a goal."""


class Motion(NamedTuple):
    """Registers 116 to 135, read from each motor after each command."""

    goal: int
    tick: int
    """The motor's clock, modulo 2^15 [ms]."""
    moving: int
    status: int
    pwm: int
    current: int
    velocity: int
    position: int


class State(NamedTuple):
    """Some of registers 64 to 98, read from each motor after a fault."""

    torque: int
    error: int
    watchdog: int


MOTION = Register(116, 20)
STATE = Register(64, 35)


def motion(data: bytes) -> Motion:
    """Unpack registers 116 to 135."""
    return Motion._make(struct.unpack("<iHBBhhii", data))


def state(data: bytes) -> State:
    """Unpack registers 64 to 98."""
    return State(data[0], data[6], data[34])


ERRORS = {
    0: "input voltage out of its limits",
    2: "overheating",
    3: "motor encoder",
    4: "electrical shock, or too little power",
    5: "overload",
}
"""Bits of the hardware error status."""


def error_text(bits: int) -> str:
    """Describe hardware errors."""
    return ", ".join(text for bit, text in ERRORS.items() if bits >> bit & 1) or f"error {bits}"


@dataclass(frozen=True)
class Family:
    """Motors with the same units."""

    numbers: tuple[int, ...]
    """Model numbers."""
    current_unit: float
    """Unit of the present current [mA]; 0 if the load is measured instead, in 0.1 %."""


FAMILIES = {
    "xl330": Family((1190, 1200), 1.0),
    "xc330": Family((1210, 1220, 1230, 1240), 1.0),
    "xl430": Family((1060, 1090), 0.0),
    "xc430": Family((1070, 1080, 1160), 0.0),
    "xm430": Family((1020, 1030), 2.69),
    "xm540": Family((1120, 1130), 2.69),
    "xh430": Family((1000, 1010, 1040, 1050), 2.69),
    "xh540": Family((1100, 1110, 1140, 1150), 2.69),
}


def family_of(number: int) -> str | None:
    """Return the name of the family of a model number, or None if it is unknown."""
    return next((name for name, family in FAMILIES.items() if number in family.numbers), None)
