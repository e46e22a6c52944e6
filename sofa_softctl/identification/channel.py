"""Columns of recordings: measured outputs and recorded inputs, with their noise."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Channel:
    """One column of a recording."""

    name: str
    """As in the recording's header: 'b3', 'tip.x'."""
    unit: str
    """'m', 'mm', 'rad', 'N m', 'mN': of the numbers in memory."""
    deviation: float = 1.0
    """Standard deviation of its noise [unit]."""
    largest: float = math.inf
    """Largest plausible magnitude: larger numbers are refused as in wrong units [unit]."""
