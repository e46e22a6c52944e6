"""Recordings: the signals of a problem, converted and checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from sofa_softctl.base.suggestions import did_you_mean, some
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.sampling import bridge, regular
from sofa_softctl.identification.data.signal_checks import check_size, input_notes, sensor_notes
from sofa_softctl.identification.data.table import TIME, Table
from sofa_softctl.identification.data.units import SIZES, factor
from sofa_softctl.identification.model.channel import Channel

LARGEST = 1e30
"""Larger magnitudes are refused, in any unit."""
CLOCKS_APART = 1e-4
"""Least difference of the speeds of two clocks for a note [-]."""
UNUSED = 20
"""Most unused columns for a note on them; records of whole scenes have thousands."""


@dataclass(frozen=True, eq=False)
class Recording:
    """One measured run, in the units of a problem's channels."""

    name: str
    """Name of the file."""
    time: np.ndarray
    """Of the samples [s], shape (n,), increasing."""
    inputs: np.ndarray
    """Recorded inputs, shape (n, n_inputs), none missing."""
    outputs: np.ndarray
    """Measured outputs, NaN where missing, shape (n, n_outputs)."""
    notes: tuple[str, ...] = ()
    """Notes for the user: gaps, resampling, unused columns, doubts."""
    doubts: tuple[str, ...] = ()
    """Sensors that seem to have failed, which spoils any fit."""


def assemble(
    table: Table,
    inputs: Sequence[Channel],
    channels: Sequence[Channel],
    *,
    rate: float | None = None,
    planned: bool = False,
) -> Recording:
    """A recording from the columns of a table.

    Args:
        table: Columns in any units that convert.
        inputs: Columns needed at every time; gaps up to `sampling.GAP` samples are interpolated.
        channels: Measured outputs; missing samples stay NaN.
        rate: Sample rate that the model needs [Hz]; None: any, even or not.
        planned: A motion that is not measured yet: columns of outputs may be absent.

    Raises:
        IdentificationError: Columns are missing or in wrong units, times do not increase or have
            another rate, inputs have long gaps, or numbers are implausible.
    """
    _check_columns(table, inputs, channels, planned)
    table = without_repeated_rows(table)
    names = list(dict.fromkeys(one.name for one in (*inputs, *channels)))
    units = {one.name: one.unit for one in (*channels, *inputs)}
    _check_numbers(table, names)
    values = np.column_stack([_column(table, name, units[name]) for name in names])
    _check_empty(table, values, names, inputs, channels, planned)
    time, values, notes = regular(_times(table), values, rate=rate, where=table.name)
    at = [names.index(one.name) for one in inputs]
    for column in at:
        values[:, column], gaps = bridge(values[:, column], time, names[column], table.name)
        notes += gaps
    outputs = values[:, [names.index(one.name) for one in channels]]
    for one, column in zip((*inputs, *channels), (*values[:, at].T, *outputs.T), strict=True):
        check_size(column, one, table.name)
    notes[:0] = table.notes
    doubts: list[str] = []
    extra = [name for name in table.columns if name not in names and name != TIME]
    if table.faults:
        notes.append(f"columns without numbers, which are not used: {some(list(table.faults))}")
    notes += other_clocks(table, extra)
    if 0 < len(extra) <= UNUSED:
        notes.append(f"columns that are not used: {some(extra)}")
    if not planned:
        notes += _missing(outputs, channels)
        doubts = sensor_notes(time, outputs, channels)
        notes += input_notes(values[:, at], inputs) + doubts
    return Recording(table.name, time, values[:, at], outputs, tuple(notes), tuple(doubts))


def check_different(recordings: Sequence[Recording]) -> None:
    """Refuse a recording that is there twice.

    Raises:
        IdentificationError: Two have the same outputs at the same times.
    """
    for one, other in combinations(recordings, 2):
        same = np.array_equal(one.time, other.time)
        if same and np.array_equal(one.outputs, other.outputs, equal_nan=True):
            raise IdentificationError(
                f"{one.name} and {other.name} are the same recording: fitted twice, its noise "
                "would count as independent; held out, it validates nothing. Leave one out."
            )


def _missing(outputs: np.ndarray, channels: Sequence[Channel]) -> list[str]:
    """Notes on outputs with missing samples."""
    counts = np.isnan(outputs).sum(axis=0)
    return [
        f"{one.name}: {n} of {len(outputs)} samples missing"
        if n < len(outputs)
        else f"'{one.name}' has no number at all: it is not compared"
        for one, n in zip(channels, counts, strict=True)
        if n
    ]


def _check_columns(
    table: Table, inputs: Sequence[Channel], channels: Sequence[Channel], planned: bool
) -> None:
    needed = [TIME, *(one.name for one in inputs)]
    needed += [] if planned else [one.name for one in channels]
    for name in (name for name in needed if name in table.faults):
        raise IdentificationError(table.faults[name])
    for name in needed:
        if name not in table.columns:
            unit = next((one.unit for one in (*inputs, *channels) if one.name == name), "s")
            raise IdentificationError(
                f"{table.name}: there is no column '{name} [{unit}]'."
                f"{did_you_mean(name, list(table.columns))} It has: "
                f"{some(list(table.columns), near=name)}"
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
    driving = {one.name for one in inputs}
    measured = [name for name in names if name in {one.name for one in channels}]
    empty = [name for name, column in zip(names, values.T, strict=True) if np.isnan(column).all()]
    if wrong := [name for name in empty if name in driving]:
        raise IdentificationError(f"{table.name}: the input '{wrong[0]}' has no number at all.")
    if measured and not planned and set(measured) <= set(empty):
        raise IdentificationError(
            f"{table.name}: no output was measured: there is no number under {', '.join(measured)}."
        )


def _check_numbers(table: Table, names: list[str]) -> None:
    """IdentificationError for numbers whose squares could overflow."""
    for name in names:
        column = table.columns.get(name, np.empty(0))
        if (wrong := np.abs(np.nan_to_num(column)) > LARGEST).any():
            k = int(wrong.argmax())
            raise IdentificationError(
                f"{table.name}, {table.rows[k]}, '{name}': {column[k]:g} cannot have been "
                "measured. Leave empty what was not measured."
            )


def _column(table: Table, name: str, unit: str) -> np.ndarray:
    """A column in the problem's unit; NaN if it is missing."""
    if name not in table.columns:
        return np.full(len(table.rows), np.nan)
    scale = factor(table.units[name], unit, f"{table.name}: column '{name}'")
    return scale * table.columns[name]


def _times(table: Table) -> np.ndarray:
    """Increasing times [s]."""
    time = factor(table.units[TIME], "s", f"{table.name}: column '{TIME}'") * table.columns[TIME]
    if np.isnan(time).any():
        raise IdentificationError(
            f"{table.name}, {table.rows[int(np.isnan(time).argmax())]}: there is no time."
        )
    if len(time) < 2:
        raise IdentificationError(f"{table.name}: expected at least two times. Got {len(time)}.")
    steps = np.diff(time)
    if (back := steps < 0.0).any():
        k = int(back.argmax()) + 1
        raise IdentificationError(
            f"{table.name}, {table.rows[k]}: the time {time[k]:.15g} s is not after "
            f"{time[k - 1]:.15g} s of the row before. Sort rows by time; where a clock was set "
            "back, or two recordings follow each other, cut the file there."
        )
    if (same := steps == 0.0).any():
        k = int(same.argmax()) + 1
        count = int(same.sum())
        raise IdentificationError(
            f"{table.name}, {table.rows[k]}: the time {time[k]:.15g} s is not after "
            f"{time[k - 1]:.15g} s of the row before{f', like {count - 1} more' * (count > 1)}. "
            "Leave out duplicates; where stamps were rounded, export more digits."
        )
    return time


def without_repeated_rows(table: Table) -> Table:
    """The table without rows that are all alike to the one before, which loggers write twice."""
    values = np.column_stack([table.columns[name] for name in table.columns])
    alike = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    kept = np.concatenate(([True], ~alike.all(axis=1)))
    if TIME not in table.columns or kept.all():
        return table
    count = int((~kept).sum())
    note = f"{count} row{'s' * (count > 1)} alike to the one before, with the same time, left out"
    return replace(
        table,
        columns={name: values[kept] for name, values in table.columns.items()},
        rows=tuple(row for row, keep in zip(table.rows, kept, strict=True) if keep),
        notes=(*table.notes, note),
    )


def other_clocks(table: Table, names: Sequence[str]) -> list[str]:
    """Notes on further columns of times whose clock runs at another speed than that of 'time'."""
    notes, scale = [], factor(table.units[TIME], "s", TIME)
    time = table.columns[TIME] * scale
    for name in names:
        is_time = any(word in name.lower() for word in ("time", "stamp", "clock"))
        other = table.columns[name] * SIZES["time"].get(table.units[name], scale)
        if not is_time or len(other) < 3 or not (np.diff(other) > 0.0).all():
            continue
        speed = (other[-1] - other[0]) / (time[-1] - time[0])
        if 0.5 < speed < 2.0 and abs(speed - 1.0) > CLOCKS_APART:
            notes.append(
                f"'{name}' is of another clock, which runs {100.0 * (speed - 1.0):+.2g} % against "
                "'time': take care that all columns are stamped by one of them"
            )
    return notes
