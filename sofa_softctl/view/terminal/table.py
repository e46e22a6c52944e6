"""Tables that cut nothing, on a terminal of any width and in a pipe.

Without a terminal, tables are as wide as their contents, so that `grep` finds whole names. On a
terminal, long words continue in the next line of their cell; a table whose numbers would be broken
becomes a list with a line for each cell.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Column
from rich.table import Table as RichTable
from typing_extensions import override

PIPE_WIDTH = 100_000
"""Width of the output if it is not a terminal and COLUMNS is not set [characters]."""
TEXT_WIDTH_MIN = 10
"""Width to which a column of text may be narrowed before a table becomes a list [characters]."""
FRAME_WIDTH = 3
"""Width of the frame and padding of a column [characters]."""


def make_console(**options: Any) -> Console:
    """Return a console that breaks no lines if its output is not a terminal."""
    console = Console(**options)
    on_terminal = console.is_terminal or (sys.__stdout__ is not None and sys.__stdout__.isatty())
    if not on_terminal and "COLUMNS" not in os.environ:  # also with a prefix before each line
        console.width = PIPE_WIDTH
    return console


class Table(RichTable):
    """Table with title and caption in lines of their own; columns of numbers are right-aligned."""

    @override
    def add_column(self, header: Any = "", *args: Any, **options: Any) -> None:
        super().add_column(header, *args, **{"overflow": "fold", **options})

    @override
    def add_row(self, *cells: Any, **options: Any) -> None:
        super().add_row(*cells, **options)
        for column in self.columns:  # of a grid, which has them from its rows
            column.overflow = "fold"

    @override
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        title, caption = self.title, self.caption
        self.title = self.caption = None
        try:
            if title:
                yield console.render_str(str(title), style="table.title")
            if _fits(self.columns, console, options):
                yield from super().__rich_console__(console, options)
            else:
                yield from _lines(self)
            if caption:
                yield console.render_str(str(caption), style="table.caption")
        finally:
            self.title, self.caption = title, caption


def _fits(columns: list[Column], console: Console, options: ConsoleOptions) -> bool:
    """Return True if a table fits into the width without breaking its numbers."""
    width = 1
    for column in columns:
        cells = (column.header, *column.cells)
        longest = max(Measurement.get(console, options, cell).minimum for cell in cells)
        is_text = column.justify != "right"
        width += FRAME_WIDTH + (min(longest, TEXT_WIDTH_MIN) if is_text else longest)
    return width <= options.max_width


def _lines(table: Table) -> Iterator[Any]:
    """Yield a line for each cell with its column's name, row by row."""
    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(overflow="fold")
    grid.add_column(overflow="fold")
    for number, row in enumerate(zip(*(column.cells for column in table.columns), strict=True)):
        if number:
            grid.add_row("", "")
        for column, cell in zip(table.columns, row, strict=True):
            grid.add_row(column.header, cell)
    yield grid
