"""Tables of columns with units: CSV files of recordings, and their template.

    # A comment.
    time [s], tau1 [N m], tip.x [mm]
    0.00, 0.125, 12.5
    0.01, 0.130,

A header of names with units, one row for each time; empty cells and `nan` are missing samples.
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.channel import Channel
from sofa_softctl.identification.data.units import alike

TIME = "time"
"""Name of the column of times."""
_HEADER = re.compile(r"^(?P<name>.*[^\s\[])(\s+|(?!\[\d+\]$))\[(?P<unit>[^\[\]]*)\]$")
"""A name and its unit; the [0] of 'effort[0]' is an index."""


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of a file, in its units."""

    name: str
    """Name of the file, for messages."""
    columns: dict[str, np.ndarray]
    """Values of each column in its own unit, NaN where missing, each of shape (n,)."""
    units: dict[str, str]
    """Declared unit of each column; empty if the file has none."""
    rows: tuple[str, ...]
    """Source of each row, for messages: "line 7"."""
    notes: tuple[str, ...] = ()
    """Notes for the user on how it was read."""


def read_csv(path: str | os.PathLike[str]) -> Table:
    """The table in a CSV file.

    Raises:
        IdentificationError: It cannot be read, or a cell is not a number.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            lines = list(_lines(csv.reader(file, skipinitialspace=True)))
    except OSError as error:
        raise IdentificationError(f"{path}: cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise IdentificationError(
            f"{path}: expected text in UTF-8. Got: {error}. Save the table as CSV in UTF-8."
        ) from error
    except csv.Error as error:
        raise IdentificationError(f"{path}: is not a text file of values ({error}).") from error
    if len(lines) < 2:
        got = "one line that is no comment" if lines else "no line that is no comment"
        raise IdentificationError(
            f"{path}: expected a header such as 'time [s], b1 [rad]' and rows of numbers below. "
            f"Got {got}."
        )
    number, header = lines[0]
    if all(map(_is_number, header)):
        raise IdentificationError(
            f"{path}, line {number}: expected a header, the name and unit of each column, such as "
            f"'time [s], b1 [rad]'. Got numbers: '{', '.join(header)}'. Write it above them; "
            "--template FILE.csv writes one with all columns."
        )
    units = _units(header, f"{path}, line {number}")
    values = np.array([_numbers(cells, units, f"{path}, line {line}") for line, cells in lines[1:]])
    return Table(
        name=str(path),
        columns=dict(zip(units, values.T, strict=True)),
        units=units,
        rows=tuple(f"line {line}" for line, _ in lines[1:]),
    )


def template(name: str, inputs: Sequence[Channel], channels: Sequence[Channel], dt: float) -> str:
    """Text of a CSV file to fill in: explanatory comments, header, two rows."""
    lines = [
        f"# Recording for {name}. Lines that begin with # are skipped.",
        "# One row for each time. Times increase. Units that are listed are converted.",
    ]
    known = {one.name for one in inputs}
    for kind, group in (("drives the model", inputs), ("is compared with it", channels)):
        for one in group:
            if kind == "drives the model" or one.name not in known:
                noise = f"noise {one.deviation:g} {one.unit}" if one.deviation else "exact"
                lines.append(f"# {one.name}: {kind}; {noise}; units: {', '.join(alike(one.unit))}")
    lines.append("# Inputs are needed at every time; an output that was not measured stays empty.")
    columns = {one.name: one.unit for one in (*inputs, *channels)}
    lines.append(", ".join(f"{column} [{unit}]" for column, unit in {TIME: "s", **columns}.items()))
    empty = ", ".join("0.0" if one in known else "" for one in columns)
    lines += [f"{time:g}, {empty}" for time in (0.0, dt)]
    return "\n".join(lines) + "\n"


def _lines(reader: Iterator[list[str]]) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of each line that is neither empty nor a comment."""
    for number, row in enumerate(reader, start=1):
        cells = [cell.strip() for cell in row]
        if any(cells) and not cells[0].startswith("#"):
            yield number, cells


def _units(header: list[str], where: str) -> dict[str, str]:
    """Name and unit of each column."""
    units: dict[str, str] = {}
    for cell in header:
        if ";" in cell or "\t" in cell:
            raise IdentificationError(f"{where}: expected commas between cells. Got: '{cell}'.")
        found = _HEADER.match(cell)
        name = found["name"] if found else cell
        if name in units:
            raise IdentificationError(f"{where}: there are two columns '{name}'.")
        units[name] = found["unit"].strip() or "-" if found else ""
    return units


def _numbers(cells: list[str], units: dict[str, str], where: str) -> list[float]:
    if len(cells) != len(units):
        raise IdentificationError(
            f"{where}: expected {len(units)} cells, as in the header. Got {len(cells)}."
        )
    return [_number(cell, f"{where}, '{name}'") for cell, name in zip(cells, units, strict=True)]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _number(cell: str, where: str) -> float:
    try:
        value = float(cell) if cell else math.nan
    except ValueError:
        raise IdentificationError(
            f"{where}: expected a number, or nothing where none was measured. Got: '{cell}'."
        ) from None
    if math.isinf(value):
        raise IdentificationError(f"{where}: is infinite. Leave empty what was not measured.")
    return value
