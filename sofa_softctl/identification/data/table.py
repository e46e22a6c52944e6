"""Tables of columns with units: CSV files of recordings, and their template.

    # A comment.
    time [s], tau1 [N m], tip.x [mm]
    0.00, 0.125, 12.5
    0.01, 0.130,

A header of names with units, one row for each time; empty cells and `nan` are missing samples.
`exports` reads the layouts of other programs.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np

from sofa_softctl.base.files import wrong_file
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.exports import is_number, read_sheet
from sofa_softctl.identification.data.units import convertible_units, standard_spelling
from sofa_softctl.identification.model.channel import Channel

TIME = "time"
"""Name of the column of times."""
_HEADER = re.compile(r"^(?P<name>.*[^\s\[])(\s+|(?!\[\d+\]$))\[(?P<unit>[^\[\]]*)\]$")
"""Column name with its unit in brackets; the [0] of 'effort[0]' is an index."""
_ROUND = re.compile(r"^(?P<name>.*\S)\s*\((?P<unit>[^()]*)\)$")
"""Column name with its unit in round brackets."""


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of a file, in the units of the file."""

    name: str
    """Name of the file, for messages."""
    columns: dict[str, np.ndarray]
    """Values of each column in its own unit, NaN where missing, each of shape (n,)."""
    units: dict[str, str]
    """Declared unit of each column, or "" if the file has none."""
    rows: tuple[str, ...]
    """Source of each row, for messages: "line 7"."""
    notes: tuple[str, ...] = ()
    """Notes for the user on the interpretation of the file."""
    faults: dict[str, str] = field(default_factory=dict)
    """Error by name of a column without numbers, such as a status."""


def read_csv(path: str | os.PathLike[str]) -> Table:
    """Read the table in a CSV file.

    Raises:
        IdentificationError: The file cannot be read, or a cell is not a number.
    """
    sheet = read_sheet(_read_text(path), str(path))
    lines = sheet.rows if not sheet.header else [(sheet.line, sheet.header), *sheet.rows]
    if len(lines) < 2:
        got = "only one line" if lines else "no line, or only comments"
        raise IdentificationError(
            f"{path}: expected a header such as 'time [s], b1 [rad]' and rows of numbers below. "
            f"Got {got}."
        )
    number, header = lines[0]
    if all(map(is_number, header)):
        raise IdentificationError(
            f"{path}, line {number}: expected a header, the name and unit of each column, such as "
            f"'time [s], b1 [rad]'. Got numbers: '{', '.join(header)}'. Write it above them; "
            "--template FILE.csv writes one with all columns."
        )
    location = f"{path}, line {number}"
    names, units, faults = _parse_header(header, location)
    columns: dict[str, np.ndarray] = {}
    for line, cells in lines[1:]:
        if len(cells) != len(names):
            raise IdentificationError(
                f"{path}, line {line}: expected {len(names)} cells, as in the header. Got "
                f"{len(cells)}.{_comma_hint(cells, names)}"
            )
    for column, name in enumerate(names):
        if any(word in name.lower() for word in ("time", "date")) and (
            stamps := _parse_seconds([cells[column] for _, cells in lines[1:]])
        ):
            columns[name], units[name] = np.array(stamps), "s"
            continue
        try:
            columns[name] = np.array(
                [_parse_number(c[column], f"{path}, line {n}, '{name}'") for n, c in lines[1:]]
            )
        except IdentificationError as error:
            faults.setdefault(name, str(error))
    for name in faults:
        columns.pop(name, None)
    table = Table(
        name=str(path),
        columns=columns,
        units=units,
        rows=tuple(f"line {line}" for line, _ in lines[1:]),
        notes=tuple(sheet.notes),
        faults=faults,
    )
    return with_time_column(table)


def _read_text(path: str | os.PathLike[str]) -> str:
    """Read a file in UTF-8, in UTF-16 with its byte order mark, or in Windows' code page 1252."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise IdentificationError(f"{path}: cannot be read ({error.strerror}).") from error
    if wrong := wrong_file(data[:1024]):
        raise IdentificationError(f"{path}: expected a table of values, but this {wrong}.")
    try:
        utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff") and not len(data) % 2
        text = data.decode("utf-16" if utf16 else "utf-8-sig")
        if not utf16 or "\n" in text:
            return text
        data.decode()
    except UnicodeDecodeError as error:
        text = data.decode("cp1252", "replace")
        if "\ufffd" not in text and all(c.isprintable() or c in "\t\r\n" for c in text):
            return text
        raise IdentificationError(
            f"{path}: expected text in UTF-8. Got: {error}. Save the table as CSV in UTF-8."
        ) from error
    return text


def with_time_column(table: Table) -> Table:
    """Return the table with a column 'time', which other programs name differently.

    Times since 1970 are shifted to begin at 0; their unit follows from their size.
    """
    columns, units, notes = dict(table.columns), dict(table.units), list(table.notes)
    if TIME not in columns and TIME not in table.faults:
        for seconds, rest in _STAMPS:
            if seconds in columns and rest in columns:
                first = columns[seconds][0]
                columns[TIME] = columns[seconds] - first + 1e-9 * columns[rest]
                units[TIME] = "s"
                notes.append(f"times are '{seconds}' and '{rest}', from {first:.0f} s on")
                break
        else:
            time_column = next((n for n in columns if n.lower().strip() in _TIMES), None)
            if time_column is not None:
                columns[TIME] = columns[time_column]
                units[TIME] = units[time_column] or _TIMES[time_column.lower().strip()]
                notes.append(f"times are those of '{time_column}'")
    if TIME in columns and np.isfinite(columns[TIME]).any():
        first = float(columns[TIME][np.isfinite(columns[TIME])][0])
        unit = next((unit for time_min, unit in _EPOCHS if first > time_min), "")
        if unit and units[TIME] in ("", unit):
            columns[TIME] = columns[TIME] - first
            units[TIME] = unit
            notes.append(f"times in {unit} since 1970 begin at 0, which was {first:.0f} {unit}")
    return replace(table, columns=columns, units=units, notes=tuple(notes))


def _parse_seconds(cells: Sequence[str]) -> list[float]:
    """Return the seconds of dates and times of day, or [] if a cell is neither."""
    for form in _FORMS:
        try:
            read = datetime.fromisoformat if not form else partial(_strptime, form=form)
            dates = [read(cell.replace(",", ".")) for cell in cells]
        except ValueError:
            continue
        first = dates[0]
        since = first.replace(tzinfo=first.tzinfo or UTC).timestamp() if first.year > 1900 else 0.0
        return [since + (date - first).total_seconds() for date in dates]
    return []


def _strptime(text: str, form: str) -> datetime:
    return datetime.strptime(text, form)


_FORMS = (
    "", "%H:%M:%S.%f", "%H:%M:%S", "%d.%m.%Y %H:%M:%S.%f", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M",
    "%Y-%m-%d %H:%M:%S.%f", "%Y/%m/%d %H:%M:%S.%f", "%Y/%m/%d %H:%M:%S", "%m/%d/%Y %H:%M:%S.%f",
    "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %I:%M:%S.%f %p", "%m/%d/%Y %I:%M:%S %p",
)  # fmt: skip
"""Formats of dates and times; the empty one stands for ISO 8601."""
_MISSING = ("nan", "na", "n/a", "#n/a", "null", "none", "-", "--", "")
"""Cells without a number, in lower case."""
_TIMES = {
    "t": "", "time": "", "times": "", "__time": "", "%time": "", "timestamp": "", "time_s": "s",
    "time_ms": "ms", "time_us": "us", "time_ns": "ns", "x_value": "s", "elapsed time": "",
    "zeit": "", "temps": "", "date": "", "datetime": "", "date/time": "", "date time": "",
    "sampletimefine": "us",
}  # fmt: skip
"""Unit that the name of a column of times implies, by name in lower case."""
_STAMPS = (
    ("header.stamp.sec", "header.stamp.nanosec"), ("header.stamp.secs", "header.stamp.nsecs"),
    ("/header/stamp/sec", "/header/stamp/nanosec"), ("sec", "nanosec"),
)  # fmt: skip
"""Names of pairs of columns, of seconds and nanoseconds."""
_EPOCHS = ((1e17, "ns"), (1e14, "us"), (1e11, "ms"), (1e8, "s"))
"""Smallest time since 1970 in a unit, and the unit: 1e8 s were in 1973."""


def template(name: str, inputs: Sequence[Channel], channels: Sequence[Channel], dt: float) -> str:
    """Return the text of a CSV file to fill in: explanatory comments, header, two rows."""
    lines = [
        f"# Recording for {name}. Lines that begin with # are skipped.",
        "# One row for each time. Times increase. Units that are listed are converted.",
    ]
    input_names = {channel.name for channel in inputs}
    for kind, group in (("drives the model", inputs), ("is compared with it", channels)):
        for channel in group:
            if kind == "drives the model" or channel.name not in input_names:
                noise = (
                    f"noise {channel.deviation:g} {channel.unit}" if channel.deviation else "exact"
                )
                lines.append(
                    f"# {channel.name}: {kind}; {noise}; units: "
                    f"{', '.join(convertible_units(channel.unit))}"
                )
    lines.append("# Inputs are needed at every time; an output that was not measured stays empty.")
    columns = {channel.name: channel.unit for channel in (*inputs, *channels)}
    lines.append(", ".join(f"{column} [{unit}]" for column, unit in {TIME: "s", **columns}.items()))
    empty = ", ".join("0.0" if column in input_names else "" for column in columns)
    lines += [f"{time:g}, {empty}" for time in (0.0, dt)]
    return "\n".join(lines) + "\n"


def _parse_header(
    header: list[str], location: str
) -> tuple[list[str], dict[str, str], dict[str, str]]:
    """Return the name of each column, units by name, and errors by name."""
    names: list[str] = []
    units: dict[str, str] = {}
    faults: dict[str, str] = {}
    for cell in header:
        if ";" in cell or "\t" in cell:
            raise IdentificationError(f"{location}: expected commas between cells. Got: '{cell}'.")
        match = _HEADER.match(cell) or _ROUND.match(cell)
        name = match["name"] if match else cell
        if name in units:
            faults[name] = f"{location}: there are two columns '{name}'."
        names.append(name)
        units[name] = standard_spelling(match["unit"].strip()) or "-" if match else ""
    return names, units, faults


def _comma_hint(cells: list[str], names: list[str]) -> str:
    """Return a hint for a row with twice as many cells as columns."""
    if len(cells) != 2 * len(names):
        return ""
    return (
        " Are these decimal commas? Between commas they are ambiguous: write decimal "
        "points, or semicolons between cells."
    )


def _parse_number(cell: str, location: str) -> float:
    try:
        value = math.nan if cell.lower() in _MISSING else float(cell)
    except ValueError:
        raise IdentificationError(
            f"{location}: expected a number, or nothing where none was measured. Got: '{cell}'."
        ) from None
    if math.isinf(value):
        raise IdentificationError(f"{location}: is infinite. Leave empty what was not measured.")
    return value
