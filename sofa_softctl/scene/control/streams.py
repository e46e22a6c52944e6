"""Rows with times of their own that a controller adds to recordings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sofa_softctl.units import Units, symbol

if TYPE_CHECKING:
    from sofa_softctl.record.writer import RecordWriter


@dataclass(frozen=True)
class StreamRows:
    """Rows of one stream, such as the commands that a device was sent since the last step."""

    name: str
    """Name below the controller's: 'robot.command' becomes 'bridge.robot.command'."""
    time: np.ndarray
    """Time of the simulation that each row belongs to, NaN where none [time], shape (n,)."""
    clock: np.ndarray
    """Monotonic clock of the computer at each row [s], shape (n,)."""
    values: np.ndarray | Sequence[str]
    """Numbers, shape (n, ...), where ... is the same in all calls; or n texts."""
    unit: str = ""
    """Unit of the numbers, or in words, such as 'length'; empty: none."""
    help: str = ""
    """What they mean, in a sentence."""

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Shape of the value of a row; None: a text."""
        return self.values.shape[1:] if isinstance(self.values, np.ndarray) else None


def write_rows(
    writer: RecordWriter, path: str, found: Iterable[StreamRows], units: Units | None
) -> None:
    """Write rows to a recording, which gets their streams where it lacks them.

    Args:
        writer: Of the recording.
        path: What the names of the streams begin with, such as 'bridge'.
        found: The rows.
        units: Units of the scene; None: it declares none.

    Raises:
        RecordError: As `RecordWriter.write_stream`.
    """
    for rows in found:
        name = f"{path}.{rows.name}"
        if name not in writer.streams:
            unit = symbol(units, rows.unit)
            writer.add_stream(name, unit=unit, shape=rows.shape, description=rows.help)
        writer.write_stream(name, rows.time, rows.clock, rows.values)
