"""Role of a constraint row in the inverse problem."""

from __future__ import annotations

from enum import Enum


class InverseRole(Enum):
    """Whether a constraint's multiplier is sought, and whether its delta shall vanish."""

    ACTUATOR = "sought, within limits"
    EFFECTOR = "zero, its delta shall vanish"
    SENSOR = "zero, its delta is only looked at"
    EQUALITY = "sought, its delta or itself is given"
