"""Columns of recordings: measured outputs and recorded inputs, with their noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
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


def marker_columns(channels: Sequence[Channel]) -> dict[str, tuple[int, ...]]:
    """Columns of markers, three each, of channels NAME.x, NAME.y and NAME.z."""
    at = {channel.name: k for k, channel in enumerate(channels)}
    names = [name[:-2] for name in at if name.endswith(".x")]
    whole = {one: tuple(f"{one}.{axis}" for axis in "xyz") for one in names}
    return {one: tuple(at[c] for c in three) for one, three in whole.items() if {*three} <= {*at}}
