"""What a device says of itself when it is opened, checked field by field."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sofa_softctl.bridge.device import Capabilities

_FLAG = (lambda value: isinstance(value, bool), "True or False")
_TEXT = (lambda value: isinstance(value, str), "a text")
_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "description": (lambda value: isinstance(value, str) and bool(value), "a text"),
    "unit": _TEXT,
    "resolution": (lambda value: 0.0 <= value < math.inf, "a number from 0"),
    "range": (lambda value: value[0] < value[1], "the least value and a greater one"),
    "rate_max": (lambda value: value > 0.0, "a number above 0, inf where it is not known"),
    "watchdog": (
        lambda value: value is None or 0.0 < value < math.inf,
        "seconds, more than 0, or None",
    ),
    "acknowledges": _FLAG,
    "moves": _FLAG,
    "measures": _FLAG,
    "notes": (
        lambda value: isinstance(value, tuple) and all(isinstance(n, str) and n for n in value),
        "a tuple of sentences",
    ),
}


def capability_fault(found: Any) -> str:
    """What is wrong with what `Device.open` returned, as 'expected ..., got ...'; empty: nothing.

    Args:
        found: What came, whatever it is.
    """
    if not isinstance(found, Capabilities):
        return f"open: expected Capabilities, got {found!r}"
    for name, (holds, expected) in _RULES.items():
        value = getattr(found, name)
        try:
            right = holds(value)
        except (TypeError, LookupError):  # a text for a number, a number for a pair
            right = False
        if not right:
            return f"Capabilities.{name}: expected {expected}, got {value!r}"
    return ""
