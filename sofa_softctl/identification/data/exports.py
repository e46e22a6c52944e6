"""Tables written by other programs: delimiters, decimal commas, header blocks of exports.

Exports of Motive (OptiTrack), QTM (Qualisys), Nexus (Vicon) and LabVIEW are recognised by their
first line; other files may have any lines above their header. Reading a file returns names with
units, rows of cells, and notes on the interpretation of the file.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.units import dimension, standard_spelling

Rows = list[tuple[int, list[str]]]
"""Line number and cells of each row."""
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?|[+-]?\d+,")
_STARTS_WITH_DIGIT = re.compile(r"[+-]?[.,]?\d")


@dataclass
class Sheet:
    """Cells of a table."""

    header: list[str]
    """'name [unit]' of each column."""
    rows: Rows
    """Rows below the header."""
    line: int = 1
    """Line of the header."""
    notes: list[str] = field(default_factory=list)
    """Notes for the user on the interpretation of the file."""


def read_sheet(text: str, location: str) -> Sheet:
    """Read a table in the layout of any known program.

    Raises:
        IdentificationError: The layout is known, but parts of the text cannot be read.
    """
    lines = text.splitlines()
    begin = lines[0].lstrip('"') if lines else ""
    for start, (program, layout) in _LAYOUTS.items():
        if begin.startswith(start):
            try:
                return layout(lines, location)
            except (StopIteration, KeyError, ValueError, IndexError) as error:
                raise IdentificationError(
                    f"{location}: looks like an export of {program}, but is cut short, or of a "
                    f"version that is not known ({type(error).__name__}: {error}). Export it "
                    "again, or write one header, 'time [s], tip.x [mm], ...', above its rows."
                ) from error
    return _read_plain(lines)


def _read_plain(lines: list[str]) -> Sheet:
    """Read a header, possibly below other lines, and rows with the same number of cells."""
    lines_read = [(number, line) for number, line in enumerate(lines, 1) if not _is_comment(line)]
    delimiter = ","
    if lines_read and (separator := re.fullmatch(r"\W*sep=(.)\W*", lines_read[0][1])):
        delimiter, lines_read = separator[1], lines_read[1:]
    else:
        delimiter = next(filter(lambda d: _has_table(d, lines_read), ("\t", ";", ",")), ",")
    rows = _split_cells(lines_read, delimiter)
    if len(rows) < 2:
        return Sheet([], rows)
    usual = Counter(len(cells) for _, cells in rows).most_common(1)[0][0]
    fitting = [k for k, (_, cells) in enumerate(rows) if len(cells) == usual]
    begin = next((k for k in fitting if _has_numbers(rows[k][1])), len(rows))
    texts = [k for k in fitting if k < begin]
    notes = [f"read with '{_NAMES.get(delimiter, delimiter)}' between cells"] * (delimiter != ",")
    if not texts:  # no header of that many cells
        return Sheet(rows[0][1], rows[1:], rows[0][0], notes)
    units = next((k for k in texts[1:] if _is_row_of_units(rows[k][1])), None)
    times = (k for k in texts if any("time" in cell.lower() for cell in rows[k][1]))
    first = texts[texts.index(units) - 1] if units is not None else next(times, texts[0])
    header = rows[first][1]
    if units is not None:
        of = [cell.strip("[]()") for cell in rows[units][1]]
        header = [f"{name} [{of[k]}]" if of[k] else name for k, name in enumerate(header)]
    last = texts[-1] if units is not None or first != texts[0] else first
    if left := [rows[k][1] for k in range(last + 1) if k not in (first, units)]:
        notes.append(f"{len(left)} lines around its header are not read: '{left[0][0][:40]}'")
    return Sheet(header, rows[last + 1 :], rows[first][0], notes)


_NAMES = {";": ";", "\t": "tab", ",": ","}


def _has_table(delimiter: str, lines: list[tuple[int, str]]) -> bool:
    """Return True if a header and the lines below have the same number of cells."""
    counts = Counter(len(cells) for _, cells in _split_cells(lines[:50], delimiter)[1:])
    if not counts:
        return False
    usual = counts.most_common(1)[0][0]
    has_header = any(
        len(cells) == usual and not _count_numbers(cells)
        for _, cells in _split_cells(lines[:50], delimiter)
    )
    return usual > 1 and has_header


def _split_cells(lines: Iterable[tuple[int, str]], delimiter: str) -> Rows:
    """Split lines into cells; decimal commas become points unless commas separate the cells."""
    numbers, texts = zip(*lines, strict=True) if lines else ((), ())
    rows = []
    reader = csv.reader(texts, delimiter=delimiter, skipinitialspace=True)
    for row in reader:
        cells = [cell.strip().replace("\u2212", "-") for cell in row]
        if delimiter != ",":
            cells = [c.replace(",", ".") if _DECIMAL_COMMA.fullmatch(c) else c for c in cells]
        if any(cells):
            rows.append((numbers[reader.line_num - 1], cells))
    width = max((k + 1 for _, cells in rows for k, cell in enumerate(cells) if cell), default=0)
    return [(number, cells[:width]) for number, cells in rows]  # without delimiters at the ends


def _is_comment(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _count_numbers(cells: list[str]) -> int:
    return sum(map(is_number, cells))


def is_number(cell: str) -> bool:
    """Return True if a cell is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _has_numbers(cells: list[str]) -> bool:
    begin = [
        cell for cell in cells if _STARTS_WITH_DIGIT.match(cell) or is_number(cell)
    ]  # dates as well
    return bool(begin) and 2 * len(begin) >= sum(map(bool, cells))


def _is_row_of_units(cells: list[str]) -> bool:
    cells = [cell.strip("[]()") for cell in cells]
    unit_names = [cell for cell in cells if cell and dimension(standard_spelling(cell))]
    return len(unit_names) > 1 or (bool(unit_names) and len(unit_names) == sum(map(bool, cells)))


# -- layouts of programs --------------------------------------------------------------------------


def _read_motive(lines: list[str], location: str) -> Sheet:
    """Read OptiTrack Motive: a line of properties, rows of types, names and kinds, then axes."""
    rows = _split_cells(enumerate(lines, 1), ",")
    properties = dict(zip(rows[0][1][::2], rows[0][1][1::2], strict=False))
    at = next((k for k, (_, cells) in enumerate(rows) if cells[0] == "Frame"), None)
    if at is None or at < 4:
        raise IdentificationError(
            f"{location}: looks like an export of OptiTrack Motive, without the rows of names and "
            "axes. Export it as CSV with 'Header information' and 'Markers' or 'Rigid bodies'."
        )
    names, kinds, (line, axes) = rows[2][1], rows[at - 1][1], rows[at]
    unit = standard_spelling(properties.get("Length Units", "Meters"))
    header = ["frame", "time [s]"]
    has_w = {name for name, axis in zip(names, axes, strict=False) if axis == "W"}
    for column in range(2, len(axes)):
        name, kind, axis = names[column], kinds[column], axes[column].lower()
        if kind == "Position":
            header.append(f"{name}.{axis} [{unit}]")
        elif kind == "Rotation":
            header.append(f"{name}.q{axis} [-]" if name in has_w else f"{name}.r{axis} [deg]")
        else:
            of = f" [{unit}]" if "Error" in kind else ""
            header.append(f"{name}.{kind.lower().replace(' ', '_')}{of}")
    note = f"read as an export of OptiTrack Motive, lengths in {unit}"
    return Sheet(header, rows[at + 1 :], line, [note])


def _read_qualisys(lines: list[str], location: str) -> Sheet:
    """Read Qualisys QTM: keys with values, then rows of markers, with or without frame and time."""
    rows = _split_cells(enumerate(lines, 1), "\t")
    at = next(k for k, (_, cells) in enumerate(rows) if is_number(cells[0]) or cells[0] == "Frame")
    keys = {cells[0]: cells[1:] for _, cells in rows[:at]}
    if "6D" in keys.get("DATA_INCLUDED", []):
        raise IdentificationError(
            f"{location}: looks like a 6D export of Qualisys QTM, whose columns have no names of "
            "their own. Export the 3D data, or write a header: 'time [s], body.x [mm], ...'."
        )
    names, rate = keys.get("MARKER_NAMES", []), float(keys["FREQUENCY"][0])
    line, below = rows[at][0], rows[at + (rows[at][1][0] == "Frame") :]
    columns = [f"{name}.{axis} [mm]" for name in names for axis in "xyz"]
    count = len(below[0][1])
    if count >= len(columns) + 2:
        header = ["frame", "time [s]", *columns]
    else:
        header = ["time [s]", *columns]
        below = [(n, [repr(k / rate), *cells]) for k, (n, cells) in enumerate(below)]
    header += [f"column {k + 1}" for k in range(len(header), len(below[0][1]))]
    lost = 0
    first = len(header) - len(columns)
    for _, cells in below:
        for k in range(first, first + len(columns), 3):
            if all(is_number(c) and float(c) == 0.0 for c in cells[k : k + 3]):
                cells[k : k + 3] = ["", "", ""]  # so QTM writes a marker that it does not see
                lost += 1
    notes = [f"read as an export of Qualisys QTM at {rate:g} Hz, lengths in mm"]
    if lost:
        notes.append(f"{lost} positions that are exactly 0, 0, 0 count as not seen")
    return Sheet(header, below, line, notes)


def _read_vicon(lines: list[str], location: str) -> Sheet:
    """Read Vicon Nexus: sections of a title, a rate, names, axes, units, rows, an empty line."""
    starts = [k for k, line in enumerate(lines) if line.strip(' ,"') in _VICON]
    titles = [lines[k].strip(' ,"') for k in starts]
    k = starts[titles.index("Trajectories") if "Trajectories" in titles else 0]
    title = lines[k].strip(' ,"')
    end = next((n for n in range(k + 5, len(lines)) if not lines[n].strip(" ,")), len(lines))
    block = list(enumerate(lines[k:end], k + 1))
    rows = _split_cells(block, "," if "," in lines[k + 3] else "\t")
    if len(rows) < 6:
        raise IdentificationError(
            f"{location}: looks like an export of Vicon Nexus whose '{title}' has no rows: "
            "expected "
            "a rate, names, axes and units above them."
        )
    rate = float(rows[1][1][0])
    names, (line, axes), units = rows[2][1], rows[3], rows[4][1]
    header, name = ["frame", "subframe"], ""
    for column in range(2, len(axes)):
        name = (names[column].rpartition(":")[2] if column < len(names) else "") or name
        unit = standard_spelling(units[column]) if column < len(units) else ""
        header.append(f"{name}.{axes[column].lower()}" + f" [{unit}]" * bool(unit))
    below = [(n, [*cells, repr(i / rate)]) for i, (n, cells) in enumerate(rows[5:])]
    notes = [f"read as an export of Vicon Nexus: '{title}' at {rate:g} Hz"]
    if unread_titles := [unread for unread in titles if unread != title]:
        notes.append(f"its other parts are not read: {', '.join(unread_titles)}")
    return Sheet([*header, "time [s]"], below, line, notes)


_VICON = ("Trajectories", "Devices", "Joints", "Model Outputs")


def _read_labview(lines: list[str], location: str) -> Sheet:
    """Read LabVIEW: two headers, each up to ***End_of_Header***, then columns."""
    del location
    separator = next((line for line in lines if line.startswith("Separator")), "")
    delimiter = "," if "Comma" in separator else "\t"
    rows = _split_cells(enumerate(lines, 1), delimiter)
    ends = [k for k, (_, cells) in enumerate(rows) if cells[0].startswith("***End_of_Header")]
    at = next(k for k, (_, cells) in enumerate(rows) if cells[0].startswith("X_Value"))
    keys = {cells[0]: cells[1:] for _, cells in rows[: ends[1] if len(ends) > 1 else at]}
    line, titles = rows[at]
    end = next((k for k in ends if k > at), len(rows))
    count = titles.index("Comment") if "Comment" in titles else len(titles)
    units = ["s", *(standard_spelling(unit) for unit in keys.get("Y_Unit_Label", []))]
    names = ["time", *titles[1:count]]
    units += [""] * count
    header = [f"{name} [{units[k]}]" if units[k] else name for k, name in enumerate(names)]
    below = [(n, [*cells, *[""] * count][:count]) for n, cells in rows[at + 1 : end]]
    while below and not is_number(below[-1][1][-1]):
        below.pop()  # the head of a further segment
    if below and not below[0][1][0]:  # without a column of times
        first, step = (float(keys[key][0].replace(",", ".")) for key in ("X0", "Delta_X"))
        below = [(n, [repr(first + k * step), *c[1:]]) for k, (n, c) in enumerate(below)]
    notes = ["read as a LabVIEW measurement"]
    if len(ends) > 2:
        notes.append(f"the first of its {len(ends) - 1} segments; the others are not read")
    return Sheet(header, below, line, notes)


_LAYOUTS: dict[str, tuple[str, Callable[[list[str], str], Sheet]]] = {
    "Format Version": ("OptiTrack Motive", _read_motive),
    "NO_OF_FRAMES": ("Qualisys QTM", _read_qualisys),
    "LabVIEW Measurement": ("LabVIEW", _read_labview),
    **dict.fromkeys(_VICON, ("Vicon Nexus", _read_vicon)),
}
"""Program and function that reads its exports, by the beginning of the first line."""
