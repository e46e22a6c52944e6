"""Rows with separate times that a controller adds to recordings."""

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
    """Rows of one stream, such as the commands sent to a device since the last step."""

    name: str
    """Name below the controller's: 'robot.command' becomes 'bridge.robot.command'."""
    time: np.ndarray
    """Simulation time of each row, or NaN [time], shape (n,)."""
    clock: np.ndarray
    """Monotonic clock of the computer at each row [s], shape (n,)."""
    values: np.ndarray | Sequence[str]
    """Numbers, shape (n, ...), where ... is the same in all calls; or n texts."""
    unit: str = ""
    """Unit or quantity of the numbers, such as 'length', or ""."""
    help: str = ""
    """Meaning of the values, in a sentence."""

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Shape of the value of a row, or None for a text."""
        return self.values.shape[1:] if isinstance(self.values, np.ndarray) else None


def write_rows(
    writer: RecordWriter, path: str, streams: Iterable[StreamRows], units: Units | None
) -> None:
    """Write rows to a recording, and add their streams if they are missing.

    Args:
        writer: Writer of the recording.
        path: Prefix of the streams' names, such as 'bridge'.
        streams: The rows.
        units: Units of the scene, or None if it declares none.

    Raises:
        RecordError: see `RecordWriter.write_stream`.
    """
    for stream in streams:
        name = f"{path}.{stream.name}"
        if name not in writer.streams:
            unit = symbol(units, stream.unit)
            writer.add_stream(name, unit=unit, shape=stream.shape, description=stream.help)
        writer.write_stream(name, stream.time, stream.clock, stream.values)
