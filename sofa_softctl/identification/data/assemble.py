"""Recordings assembled from the columns of tables, with checks of units, times and gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from sofa_softctl.base.suggestions import did_you_mean, list_names
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.sampling import fill_gaps, place_regularly
from sofa_softctl.identification.data.signal_checks import check_size, input_notes, sensor_notes
from sofa_softctl.identification.data.table import TIME, Table
from sofa_softctl.identification.data.units import SIZES, factor
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.recording import Recording


def assemble(
    table: Table,
    inputs: Sequence[Channel],
    channels: Sequence[Channel],
    *,
    rate: float | None = None,
    planned: bool = False,
) -> Recording:
    """Make a recording from the columns of a table.

    Args:
        table: Columns in any units that convert.
        inputs: Columns needed at every time; short gaps are interpolated, see `sampling.fill_gaps`.
        channels: Measured outputs; missing samples stay NaN.
        rate: Sample rate that the model needs [Hz]; None allows any, even or not.
        planned: Accept a motion that is not measured yet, without columns of outputs.

    Raises:
        IdentificationError: Columns are missing or in wrong units, times do not increase or have
            another rate, inputs have long gaps, or numbers are implausible.
    """
    _check_columns(table, inputs, channels, planned)
    table = without_repeated_rows(table)
    names = list(dict.fromkeys(channel.name for channel in (*inputs, *channels)))
    units = {channel.name: channel.unit for channel in (*channels, *inputs)}
    _check_numbers(table, names)
    values = np.column_stack([_column_in_unit(table, name, units[name]) for name in names])
    _check_empty(table, values, names, inputs, channels, planned)
    time, values, notes = place_regularly(_times(table), values, rate=rate, location=table.name)
    input_index = [names.index(channel.name) for channel in inputs]
    for column in input_index:
        values[:, column], gaps = fill_gaps(values[:, column], time, names[column], table.name)
        notes += gaps
    outputs = values[:, [names.index(channel.name) for channel in channels]]
    for channel, column in zip(
        (*inputs, *channels), (*values[:, input_index].T, *outputs.T), strict=True
    ):
        check_size(column, channel, table.name)
    notes[:0] = table.notes
    doubts: list[str] = []
    unused_names = [name for name in table.columns if name not in names and name != TIME]
    if table.faults:
        notes.append(
            f"columns without numbers, which are not used: {list_names(list(table.faults))}"
        )
    notes += other_clock_notes(table, unused_names)
    if 0 < len(unused_names) <= 20:  # records of whole scenes have thousands
        notes.append(f"columns that are not used: {list_names(unused_names)}")
    if not planned:
        notes += _missing_notes(outputs, channels)
        doubts = sensor_notes(time, outputs, channels)
        notes += input_notes(values[:, input_index], inputs) + doubts
    return Recording(table.name, time, values[:, input_index], outputs, tuple(notes), tuple(doubts))


def check_different(recordings: Sequence[Recording]) -> None:
    """Refuse two copies of a recording.

    Raises:
        IdentificationError: Two recordings have the same outputs at the same times.
    """
    for first_recording, second_recording in combinations(recordings, 2):
        have_same_times = np.array_equal(first_recording.time, second_recording.time)
        if have_same_times and np.array_equal(
            first_recording.outputs, second_recording.outputs, equal_nan=True
        ):
            raise IdentificationError(
                f"{first_recording.name} and {second_recording.name} are the same recording: "
                "fitted twice, its noise "
                "would count as independent; held out, it validates nothing. Leave one out."
            )


def _missing_notes(outputs: np.ndarray, channels: Sequence[Channel]) -> list[str]:
    """Return notes on outputs with missing samples."""
    counts = np.isnan(outputs).sum(axis=0)
    return [
        f"{channel.name}: {n} of {len(outputs)} samples missing"
        if n < len(outputs)
        else f"'{channel.name}' has no number at all: it is not compared"
        for channel, n in zip(channels, counts, strict=True)
        if n
    ]


def _check_columns(
    table: Table, inputs: Sequence[Channel], channels: Sequence[Channel], planned: bool
) -> None:
    needed = [TIME, *(channel.name for channel in inputs)]
    needed += [] if planned else [channel.name for channel in channels]
    for name in (name for name in needed if name in table.faults):
        raise IdentificationError(table.faults[name])
    for name in needed:
        if name not in table.columns:
            unit = next(
                (channel.unit for channel in (*inputs, *channels) if channel.name == name), "s"
            )
            raise IdentificationError(
                f"{table.name}: there is no column '{name} [{unit}]'."
                f"{did_you_mean(name, list(table.columns))} It has: "
                f"{list_names(list(table.columns), similar_to=name)}"
                f"{' (' + table.notes[0] + ')' if table.notes else ''}. "
                "--template FILE.csv writes a file with all columns."
            )


def _check_empty(
    table: Table,
    values: np.ndarray,
    names: list[str],
    inputs: Sequence[Channel],
    channels: Sequence[Channel],
    planned: bool,
) -> None:
    input_names = {channel.name for channel in inputs}
    measured_names = [name for name in names if name in {channel.name for channel in channels}]
    empty_names = [
        name for name, column in zip(names, values.T, strict=True) if np.isnan(column).all()
    ]
    if empty_inputs := [name for name in empty_names if name in input_names]:
        raise IdentificationError(
            f"{table.name}: the input '{empty_inputs[0]}' has no number at all."
        )
    if measured_names and not planned and set(measured_names) <= set(empty_names):
        raise IdentificationError(
            f"{table.name}: no output was measured: there is no number under "
            f"{', '.join(measured_names)}."
        )


def _check_numbers(table: Table, names: list[str]) -> None:
    """Raise IdentificationError for numbers whose squares could overflow."""
    for name in names:
        column = table.columns.get(name, np.empty(0))
        if (is_too_large := np.abs(np.nan_to_num(column)) > 1e30).any():
            k = int(is_too_large.argmax())
            raise IdentificationError(
                f"{table.name}, {table.rows[k]}, '{name}': {column[k]:g} cannot have been "
                "measured. Leave empty what was not measured."
            )


def _column_in_unit(table: Table, name: str, unit: str) -> np.ndarray:
    """Return a column in the problem's unit, NaN if it is missing."""
    if name not in table.columns:
        return np.full(len(table.rows), np.nan)
    scale = factor(table.units[name], unit, f"{table.name}: column '{name}'")
    return scale * table.columns[name]


def _times(table: Table) -> np.ndarray:
    """Return the times, which must increase [s]."""
    time = factor(table.units[TIME], "s", f"{table.name}: column '{TIME}'") * table.columns[TIME]
    if np.isnan(time).any():
        raise IdentificationError(
            f"{table.name}, {table.rows[int(np.isnan(time).argmax())]}: there is no time."
        )
    if len(time) < 2:
        raise IdentificationError(f"{table.name}: expected at least two times. Got {len(time)}.")
    steps = np.diff(time)
    if (is_earlier := steps < 0.0).any():
        k = int(is_earlier.argmax()) + 1
        raise IdentificationError(
            f"{table.name}, {table.rows[k]}: the time {time[k]:.15g} s is not after "
            f"{time[k - 1]:.15g} s of the row before. Sort rows by time; where a clock was set "
            "back, or two recordings follow each other, cut the file there."
        )
    if (is_repeated := steps == 0.0).any():
        k = int(is_repeated.argmax()) + 1
        count = int(is_repeated.sum())
        raise IdentificationError(
            f"{table.name}, {table.rows[k]}: the time {time[k]:.15g} s is not after "
            f"{time[k - 1]:.15g} s of the row before{f', like {count - 1} more' * (count > 1)}. "
            "Leave out duplicates; where stamps were rounded, export more digits."
        )
    return time


def without_repeated_rows(table: Table) -> Table:
    """Return the table without rows that repeat the one before: loggers write rows twice."""
    values = np.column_stack([table.columns[name] for name in table.columns])
    is_repeated = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    is_new = np.concatenate(([True], ~is_repeated.all(axis=1)))
    if TIME not in table.columns or is_new.all():
        return table
    repeated_count = int((~is_new).sum())
    plural = "s" * (repeated_count > 1)
    note = f"{repeated_count} row{plural} alike to the one before, with the same time, left out"
    return replace(
        table,
        columns={name: values[is_new] for name, values in table.columns.items()},
        rows=tuple(row for row, keep in zip(table.rows, is_new, strict=True) if keep),
        notes=(*table.notes, note),
    )


def other_clock_notes(table: Table, names: Sequence[str]) -> list[str]:
    """Return notes on columns of times whose clock runs faster or slower than that of 'time'."""
    notes, scale = [], factor(table.units[TIME], "s", TIME)
    time = table.columns[TIME] * scale
    for name in names:
        is_time = any(word in name.lower() for word in ("time", "stamp", "clock"))
        other_time = table.columns[name] * SIZES["time"].get(table.units[name], scale)
        if not is_time or len(other_time) < 3 or not (np.diff(other_time) > 0.0).all():
            continue
        speed = (other_time[-1] - other_time[0]) / (time[-1] - time[0])
        if 0.5 < speed < 2.0 and abs(speed - 1.0) > 1e-4:  # 0.1 s after 17 minutes
            notes.append(
                f"'{name}' is of another clock, which runs {100.0 * (speed - 1.0):+.2g} % against "
                "'time': take care that all columns are stamped by one of them"
            )
    return notes
