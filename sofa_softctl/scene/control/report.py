"""Report of a controller on a run: history, tables, markers in a movie.

Every `SceneController` may have a `summary`, a `plot` and `markers`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Literal, NamedTuple

import numpy as np

from sofa_softctl.status import Verdict
from sofa_softctl.units import Units


@dataclass(frozen=True)
class History:
    """Outputs of a controller after every step of a run."""

    time: np.ndarray
    """Time after each step [time], shape (n,)."""
    values: dict[str, list[np.ndarray]]
    """Values of each output after each step, by name; texts are arrays without a dimension."""
    units: Units | None = None
    """Units of the scene."""

    def __getitem__(self, name: str) -> np.ndarray:
        """Return an output of constant shape over time, shape (n, ...)."""
        return np.array(self.values[name])


@dataclass(frozen=True)
class Table:
    """A table of texts."""

    title: str
    columns: tuple[str, ...]
    """Headings; the first column is a name, columns of numbers follow."""
    rows: Sequence[tuple[str, ...]]
    caption: str = ""
    """Text below the table."""
    texts: tuple[int, ...] = (0,)
    """Indices of the columns of text, which are aligned to the left."""

    def __str__(self) -> str:
        """Return the table as plain text."""
        rows = [self.columns, *self.rows]
        widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if number in self.texts else cell.rjust(width)
                for number, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join(filter(None, [self.title, *lines, self.caption]))

    def _repr_html_(self) -> str:
        aligned = ["left" if k in self.texts else "right" for k in range(len(self.columns))]
        rows = [
            "".join(
                f'<{tag} style="text-align:{side}">{escape(cell)}</{tag}>'
                for cell, side in zip(cells, aligned, strict=True)
            )
            for tag, cells in [("th", self.columns), *(("td", row) for row in self.rows)]
        ]
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        caption = f"<p>{escape(self.caption)}</p>" if self.caption else ""
        return f"<p><b>{escape(self.title)}</b></p><table>{body}</table>{caption}"


class Line(NamedTuple):
    """A sentence below the tables."""

    text: str
    level: Literal["plain", "good", "doubt"] = "plain"
    """Assessment: neutral, as it should be, or doubtful."""


@dataclass(frozen=True)
class Report:
    """Tables and lines that the command line prints of a controller after a run."""

    tables: list[Table] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    def __str__(self) -> str:
        """Return tables and lines as plain text."""
        return "\n".join([*map(str, self.tables), *(line.text for line in self.lines)])

    def _repr_html_(self) -> str:
        """Return tables and lines for a notebook; a sign says their level besides the color."""
        lines = [
            f'<p style="color:{color}">{sign}{escape(line.text)}</p>'
            for line in self.lines
            for sign, color in [SIGNS_OF_LEVELS[line.level]]
        ]
        return "".join([*(table._repr_html_() for table in self.tables), *lines])


SIGNS_OF_LEVELS = {"plain": ("", "inherit"), "good": ("✓ ", "#12805c"), "doubt": ("! ", "#a86200")}
"""Sign and color of lines by their level; both colors are read on white and on black."""


class Summary(ABC):
    """Base of a controller's summary of a run: derive a dataclass; its fields go into JSON."""

    @property
    def verdict(self) -> Verdict | None:
        """Verdict on the controller's goals, or None if it has no goals."""
        return None

    @abstractmethod
    def report(self, units: dict[str, str]) -> Report:
        """Return the report for the command line; `units` has the unit of each quantity."""


class Markers(NamedTuple):
    """Markers of a controller in a movie, after a step."""

    goals: np.ndarray
    """Goals of the effectors [length], shape (n, 3)."""
    tips: np.ndarray
    """Positions of the effectors [length], shape (n, 3), or (0, 3) if unknown."""
    points: np.ndarray
    """Points at which forces act [length], shape (m, 3); m may change from step to step."""
    forces: np.ndarray
    """The forces [force], shape (m, 3)."""
