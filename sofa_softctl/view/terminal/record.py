"""Recordings on the terminal."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.markup import escape

from sofa_softctl.record.record import Record
from sofa_softctl.view.terminal.table import Table, make_console


def record_to_dict(record: Record) -> dict[str, Any]:
    """Return a JSON-serialisable description of a recording, without its values."""
    return {
        "steps": len(record.time),
        "begin": float(record.time[0]) if len(record.time) else None,
        "end": float(record.time[-1]) if len(record.time) else None,
        "complete": record.complete,
        "status": record.status,
        "metadata": record.metadata,
        "channels": {
            name: {
                "shape": list(values.shape[1:]),
                "unit": record.units[name],
                "text": values.dtype.kind == "U",
            }
            for name, values in record.channels.items()
        },
        "streams": {
            name: {
                "rows": len(stream.values),
                "shape": list(stream.values.shape[1:]),
                "unit": stream.unit,
                "text": stream.values.dtype.kind == "U",
            }
            for name, stream in record.streams.items()
        },
    }


def show_record(record: Record) -> None:
    """Print the status of the run, its provenance, and the channels."""
    console = make_console()
    steps, time = len(record.time), record.time
    span = f", t = {time[0]:g} to {time[-1]:g}" if steps else ""
    color = "green" if record.complete else "yellow"
    console.print(f"{steps} steps{span}: [{color}]{escape(record.status)}[/]", highlight=False)
    about = Table("what produced it", "")
    for key, value in record.metadata.items():
        first, *tail = value.split("\n")
        text = f"{first} ... ({len(tail) + 1} lines)" if tail else first
        about.add_row(escape(key), escape(text))
    console.print(about)
    table = Table("channel", "unit", "values a step")
    for name, values in record.channels.items():
        table.add_row(escape(name), escape(record.units[name]), _shape_text(values))
    console.print(table)
    if record.streams:
        table = Table("stream", "unit", "values a row", "rows")
        for name, stream in record.streams.items():
            rows = str(len(stream.values))
            table.add_row(escape(name), escape(stream.unit), _shape_text(stream.values), rows)
        console.print(table)


def _shape_text(values: np.ndarray) -> str:
    """Return the shape of a value."""
    shape = " x ".join(map(str, values.shape[1:])) or "1"
    return "text" if values.dtype.kind == "U" else shape
