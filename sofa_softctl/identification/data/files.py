"""Recordings and experiments from files: tables, or MCAP as `softctl run --record` writes it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.assemble import assemble
from sofa_softctl.identification.data.table import TIME, Table, read_csv
from sofa_softctl.identification.model.problem import Problem
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.record.record import Record, column_names, read_record
from sofa_softctl.units import of_columns

TABLES = (".csv", ".tsv", ".txt", ".lvm")
"""Suffixes of tables that can be read."""
_EXCEL = " Save the table as CSV."
EXPORTS = {
    ".xlsx": _EXCEL,
    ".xls": _EXCEL,
    ".ods": _EXCEL,
    ".mat": " In MATLAB: writetable(struct2table(data), 'data.csv').",
    ".c3d": " Export the take as CSV or TSV, in Motive, QTM or Nexus.",
    ".tdms": " In LabVIEW, write a text file (.lvm), or export it with npTDMS.",
    ".db3": " Export the topics of the bag, such as with PlotJuggler, as CSV.",
    ".bag": " Write its topics as CSV: rostopic echo -b FILE.bag -p /topic > topic.csv.",
    ".npz": " Write the arrays with numpy.savetxt, units in the header.",
    ".json": " Write a table, a column for each signal.",
}
"""Hints for errors on converting other files to tables, by suffix."""


def read_recording(path: str | Path, problem: Problem, *, planned: bool = False) -> Recording:
    """Read a recording of a problem's signals from a file.

    Args:
        path: FILE.mcap, or a table.
        problem: Declares the columns and the sample rate.
        planned: Accept a motion that is not measured yet, without columns of outputs.

    Raises:
        IdentificationError: Data are missing, or implausible.
        RecordError: The MCAP file cannot be read.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (*TABLES, ".mcap"):
        raise IdentificationError(
            f"{path}: expected a recording in .mcap, or a table ({', '.join(TABLES)})."
            f"{EXPORTS.get(suffix, '')}"
        )
    problem = Problem.checked(problem)
    if suffix == ".mcap" and (recording := problem.from_record(path)) is not None:
        return _with_notes(recording, read_record(path))
    table = read_mcap(path, problem) if suffix == ".mcap" else read_csv(path)
    return assemble(table, problem.inputs, problem.channels, rate=problem.rate, planned=planned)


def read_mcap(path: str | Path, problem: Problem) -> Table:
    """Read the table of an MCAP file, one column for each number of a Data.

    Columns are named as in CSV exports of records, `tip.position.x`, or with indices,
    `tip.position[0].x`, if the problem names them so. The problem's `recorded` renames columns. A
    column without unit gets the unit of the problem's channel, with a note.
    """
    record, names_by_column = read_record(path), problem.recorded
    units_by_name = {channel.name: channel.unit for channel in (*problem.inputs, *problem.channels)}
    columns, units, notes = {TIME: record.time}, {TIME: record.units.get(TIME, "") or "s"}, []
    for name, values in record.channels.items():
        if values.dtype.kind == "U":  # a text, such as a status
            continue
        shape = values.shape[1:]
        names = [
            indexed if indexed in (*names_by_column, *units_by_name) else column
            for column, indexed in zip(
                record.columns_of(name, shape), column_names(name, shape), strict=True
            )
        ]
        names = [names_by_column.get(column, column) for column in names]
        flat = values.reshape(len(values), math.prod(shape)).T
        column_units = of_columns(record.units.get(name, ""), len(names))
        for column, unit, numbers in zip(names, column_units, flat, strict=True):
            columns[column] = np.where(np.isfinite(numbers), numbers, np.nan)
            units[column] = unit or units_by_name.get(column, "")
            if column in units_by_name and not unit:
                notes.append(
                    f"{column} has no unit in the record: taken as {units_by_name[column]}"
                )
    notes += _incomplete_notes(record)
    rows = tuple(f"step {step}" for step in range(len(record.time)))
    return Table(str(path), columns, units, rows, tuple(notes))


def _with_notes(recording: Recording, record: Record) -> Recording:
    """Return the recording with notes on samples of the record that are unused or missing."""
    notes, used_count, recorded_count = (
        _incomplete_notes(record),
        len(recording.time),
        len(record.time),
    )
    if used_count < recorded_count:
        notes.append(
            f"{used_count} of {recorded_count} samples are used, from t = {recording.time[0]:g} to "
            f"{recording.time[-1]:g} s"
        )
    return replace(recording, notes=(*recording.notes, *notes))


def _incomplete_notes(record: Record) -> list[str]:
    """Return a note if a record is not complete."""
    if record.complete:
        return []
    end = f", up to t = {record.time[-1]:g}" if len(record.time) else ""
    return [f"the record is not complete ({record.status}): it has {len(record.time)} samples{end}"]
