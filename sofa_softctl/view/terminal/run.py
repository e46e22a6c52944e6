"""Progress, tables and pictures of runs on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from typing_extensions import override

from sofa_softctl.scene.control import report
from sofa_softctl.scene.session.run import Observer
from sofa_softctl.scene.session.summary import RunSummary

if TYPE_CHECKING:
    from sofa_softctl.scene.session.session import Session
    from sofa_softctl.view.terminal.progress import Bar
    from sofa_softctl.view.terminal.table import Table

COLORS_OF_LEVELS = {"good": "green", "doubt": "yellow"}
"""Colors of lines by their level."""


class Terminal:
    """Output of a command: progress bars, tables, names of files."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.console = Console(quiet=True) if quiet else _console()

    def save_plot(self, path: Path, summary: RunSummary) -> None:
        """Draw the plot of a run, and name its files."""
        from sofa_softctl.view.plots.run import save_run_plot

        for file in save_run_plot(path, summary.histories):
            self.show_file("Plot", file)

    def show_file(self, kind: str, path: Path) -> None:
        """Name a file that was written."""
        self.console.print(f"{kind}: {escape(str(path))}")

    def progress(self, total: int) -> Observer:
        """Return an observer that shows the progress of a run with that number of steps."""
        return Observer() if self.quiet else _RunProgress(self.bar("Simulating", total))

    def note(self, text: str, *, doubt: bool = False) -> None:
        """Print one line, marked if it casts doubt on results."""
        mark = "[yellow]! [/] " if doubt else ""
        self.console.print(f"{mark}{escape(text)}", highlight=False, soft_wrap=True)

    def bar(self, text: str, total: int) -> Bar:
        """Return a progress bar; as a context, it yields a function of (count[, total])."""
        from sofa_softctl.view.terminal.progress import Bar

        return Bar(text, total, self.console)

    @contextmanager
    def status(self, text: str) -> Iterator[Callable[[Any], None]]:
        """Show a line during work of unknown length; yields the function that changes it.

        In a pipe or file, a line is printed every few seconds on standard error.
        """
        from sofa_softctl.view.terminal.progress import StatusLine, printed_lines

        line = StatusLine(text)
        is_printed = not (self.console.is_terminal or self.quiet)
        with (
            self.console.status(line),
            printed_lines(line.__str__) if is_printed else nullcontext(),
        ):
            yield line.update

    def show(self, summary: RunSummary) -> None:
        """Print the tables of a run."""
        if self.quiet:
            return
        for shown in summary.reports():
            self.show_report(shown)

    def show_report(self, shown: report.Report) -> None:
        """Print the tables and lines of a report."""
        for table in shown.tables:
            self.console.print(_rich(table))
        for text, level in shown.lines:
            color = COLORS_OF_LEVELS.get(level)
            line = f"[{color}]{escape(text)}[/]" if color else escape(text)
            self.console.print(line, highlight=False)


class _RunProgress(Observer):
    """Observer that moves a bar during a run."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar

    @override
    def begin(self, session: Session) -> None:
        self._advance = self._bar.__enter__()

    @override
    def step(self, session: Session, count: int) -> None:
        self._advance(count)

    @override
    def end(self) -> None:
        self._bar.__exit__()


def _console() -> Console:
    from sofa_softctl.view.terminal.table import make_console

    return make_console()


def _rich(table: report.Table) -> Table:
    from sofa_softctl.view.terminal.table import Table

    rich_table = Table(
        title=escape(table.title),
        caption=escape(table.caption) or None,
    )
    for number, name in enumerate(table.columns):
        rich_table.add_column(escape(name), justify="left" if number in table.texts else "right")
    for row in table.rows:
        rich_table.add_row(*map(escape, row))
    return rich_table
