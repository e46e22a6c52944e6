"""Columns of recordings: measured outputs and recorded inputs, with their noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Channel:
    """One column of a recording."""

    name: str
    """Name in the recording's header: 'b3', 'tip.x'."""
    unit: str
    """Unit of the numbers in memory: 'm', 'mm', 'rad', 'N m', 'mN'."""
    deviation: float = 1.0
    """Standard deviation of the noise [unit]."""
    largest: float = math.inf
    """Largest plausible magnitude [unit]; larger numbers are refused as being in a wrong unit."""


def marker_columns(channels: Sequence[Channel]) -> dict[str, tuple[int, ...]]:
    """Return the three columns of each marker, whose channels are NAME.x, NAME.y and NAME.z."""
    column = {channel.name: k for k, channel in enumerate(channels)}
    markers = [name[:-2] for name in column if name.endswith(".x")]
    axes = {marker: tuple(f"{marker}.{axis}" for axis in "xyz") for marker in markers}
    return {
        marker: tuple(column[name] for name in names)
        for marker, names in axes.items()
        if {*names} <= {*column}
    }
