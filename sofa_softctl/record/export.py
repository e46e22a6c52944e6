"""Export of recordings to CSV and NumPy files."""

from __future__ import annotations

import csv
import json
import math
import os
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.base.files import replace_atomically
from sofa_softctl.base.suggestions import did_you_mean, nearest_names
from sofa_softctl.errors import RecordError
from sofa_softctl.record.record import Record, RecordStream
from sofa_softctl.units import QUANTITIES, of_columns


def export_csv(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a recording as a table: a row for each step, a column for each number.

    The first column is `time`; the others are named like `trunk/tip/dofs.position[0].x [mm]` or
    `inverse.effort.long_up [mN]`, with their units. Numbers are exact.

    Args:
        record: The recording.
        path: The file to write; it appears when it is complete.
    """
    names, columns = [_with_unit("time", _time_unit(record))], [record.time.tolist()]
    for name, values in record.channels.items():
        names += _heads(record, name, values, record.units[name])
        columns += _columns(values)
    _write_table(path, names, columns)


def export_streams(record: Record, names: Sequence[str], path: str | os.PathLike[str]) -> None:
    """Write streams as a table: columns `time` and `clock`, and one for each number.

    Args:
        record: The recording.
        names: Streams whose rows are at the same times.
        path: The file to write; it appears when it is complete.

    Raises:
        RecordError: A stream is unknown, or the streams have rows at different times.
    """
    streams = {name: _find_stream(record, name) for name in names}
    first = streams[names[0]]
    for name, stream in streams.items():
        if not np.array_equal(stream.clock, first.clock):
            raise RecordError(
                f"The streams '{names[0]}' and '{name}' have rows at different times. Write "
                "a table for each."
            )
    heads = [_with_unit("time", _time_unit(record)), "clock [s]"]
    columns = [first.time.tolist(), first.clock.tolist()]
    for name, stream in streams.items():
        heads += _heads(record, name, stream.values, stream.unit)
        columns += _columns(stream.values)
    _write_table(path, heads, columns)


def select(record: Record, patterns: Sequence[str] = (), interval: int = 1) -> Record:
    """Return the recording with some of its channels, streams and steps.

    Args:
        record: The recording.
        patterns: Names of channels and streams, in which `*` is any text; () for all.
        interval: Steps, or rows of a stream, from one row to the next; the last one is always kept.

    Raises:
        RecordError: A pattern matches nothing.
    """
    names = [*record.channels, *record.streams]
    chosen = [name for name in names if not patterns or any(fnmatchcase(name, p) for p in patterns)]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            closest = " or ".join(map(repr, nearest_names(pattern.strip("*"), names, 1, 0.0)))
            raise RecordError(
                f"The recording has no channel '{pattern}'. The closest is {closest or 'none'}. "
                "`softctl info FILE.mcap` lists all; * stands for any text, as in 'inverse.*'."
            )
    rows = _rows(record.time, interval)
    return replace(
        record,
        time=record.time[rows],
        channels={name: x[rows] for name, x in record.channels.items() if name in chosen},
        streams={
            name: _thin(stream, interval)
            for name, stream in record.streams.items()
            if name in chosen
        },
    )


def columns_of(record: Record) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return each number of a recording over time, shape (n_steps,), and its unit, by its name."""
    columns, units = dict[str, np.ndarray](), dict[str, str]()
    for channel, values in record.channels.items():
        names = record.columns_of(channel, values.shape[1:])
        columns |= zip(names, values.reshape(len(values), len(names)).T, strict=True)
        units |= zip(names, of_columns(record.units[channel], len(names)), strict=True)
    return columns, units


def _rows(time: np.ndarray, interval: int) -> Any:
    """Return the indices of every `interval`-th row and of the last one."""
    if interval == 1:
        return slice(None)
    return np.unique(np.append(np.arange(0, len(time), interval), np.arange(len(time))[-1:]))


def _thin(stream: RecordStream, interval: int) -> RecordStream:
    rows = _rows(stream.clock, interval)
    return replace(
        stream, time=stream.time[rows], clock=stream.clock[rows], values=stream.values[rows]
    )


def _heads(record: Record, name: str, values: np.ndarray, unit: str) -> list[str]:
    """Return the names of a channel's columns, with units."""
    names = record.columns_of(name, values.shape[1:])
    if len(names) > 1 and values.shape[-1] == 7:  # a position and a quaternion, without unit
        return [_with_unit(name, "" if k % 7 > 2 else unit) for k, name in enumerate(names)]
    return list(map(_with_unit, names, of_columns(unit, len(names))))


def _with_unit(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit and unit not in QUANTITIES else name


def _time_unit(record: Record) -> str:
    """Return the unit of time, the last one of the metadata's units, or "" if unknown."""
    return record.metadata.get("units", "").rpartition(", ")[2]


def _find_stream(record: Record, name: str) -> RecordStream:
    if name not in record.streams:
        raise RecordError(
            f"The recording has no stream '{name}'.{did_you_mean(name, record.streams)} It has: "
            f"{', '.join(record.streams) or 'none'}."
        )
    return record.streams[name]


def _columns(values: np.ndarray) -> list[list[object]]:
    return values.reshape(len(values), math.prod(values.shape[1:])).T.tolist()  # type: ignore[no-any-return]


def _write_table(
    path: str | os.PathLike[str], names: Sequence[str], columns: Iterable[list[object]]
) -> None:
    with (
        replace_atomically(Path(path), RecordError) as temporary,
        open(temporary, "w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(zip(*columns, strict=True))


def export_npz(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a recording for `numpy.load`: arrays `time`, one for each channel, and `metadata`.

    The latter is JSON text with the metadata, the units and the status. A stream NAME becomes the
    arrays `NAME`, `NAME@time` and `NAME@clock`.

    Args:
        record: The recording.
        path: The file to write; it appears when it is complete.
    """
    units = record.units | {name: stream.unit for name, stream in record.streams.items()}
    metadata = {"metadata": record.metadata, "units": units, "status": record.status}
    arrays = {
        "time": record.time,
        **record.channels,
        **{name: stream.values for name, stream in record.streams.items()},
        **{f"{name}@time": stream.time for name, stream in record.streams.items()},
        **{f"{name}@clock": stream.clock for name, stream in record.streams.items()},
        "metadata": np.array(json.dumps(metadata)),
    }
    with (
        replace_atomically(Path(path), RecordError) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
