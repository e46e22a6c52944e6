"""Run scenes with progress bars, tables, pictures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from sofa_softctl.scene.control import report
from sofa_softctl.scene.session.run import RunSummary, run, step_count
from sofa_softctl.scene.session.session import Session

if TYPE_CHECKING:
    from sofa_softctl.record.file import RecordFile

DEFAULT_DURATION = 2.0
"""Simulated time of a run when neither the user nor the scene says (DURATION in the scene)."""


COLORS_OF_LEVELS = {"good": "green", "doubt": "yellow"}
"""Of sentences that say how it went."""


class Terminal:
    """Runs sessions: a bar while it runs, a table at the end, pictures if asked."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.console = Console(quiet=quiet)

    def run(
        self,
        session: Session,
        steps: int | None,
        duration: float | None,
        *,
        record: RecordFile | None = None,
        plot: Path | None = None,
        movie: Path | None = None,
        view: Any = None,
    ) -> RunSummary:
        """Run a session, close it, and show what came out, also of the steps before a Ctrl-C.

        Args:
            session: The session.
            steps: Steps to do.
            duration: Simulated time to run instead; the scene's own when neither is given.
            record: File to record to.
            plot: Plot to write.
            movie: Movie to write.
            view: Where its camera stands, a `view.movie.direction.View`; None: its own choice.
        """
        if plot is not None:
            from sofa_softctl.view.plots.run import check_plot

            check_plot(session.controllers)
        camera = None
        if movie is not None:
            from sofa_softctl.view.movie.capture import Camera

            camera = Camera(session, movie, view)
        total = step_count(session, steps, duration, session.duration or DEFAULT_DURATION)
        with ExitStack() as stack:
            if record is not None:  # it ends after the session, whose motors go to rest
                stack.enter_context(session.recording(record))
            stack.enter_context(session)  # motors stop before pictures are drawn
            advance = stack.enter_context(self.bar("Simulating", total))

            def on_step(done: int) -> None:
                if camera is not None:
                    camera.look()
                advance(done)

            summary, histories = run(session, total, on_step, close=True)
        if summary.interrupted:
            stopped = f"Stopped by {summary.stopped_by} after {summary.steps} of {total} steps."
            if record is not None:
                stopped += f" They are recorded in '{record.path}'."
            print(stopped, file=sys.stderr)
        self.show(summary)
        self._show_file("Record", None if record is None else record.path)
        with ExitStack() as pictures:  # if one of them fails, the other one is made all the same
            if camera is not None:
                pictures.callback(self._save_movie, camera)
            if plot is not None:
                pictures.callback(self._save_plot, plot, histories)
        return summary

    def _save_plot(self, path: Path, histories: list[tuple[Any, report.History]]) -> None:
        from sofa_softctl.view.plots.run import save_run_plot

        for written in save_run_plot(path, histories):
            self._show_file("Plot", written)

    def _save_movie(self, camera: Any) -> None:
        with self.bar("Rendering", 1) as advance:
            camera.save(progress=advance)
        self._show_file("Movie", camera.path)

    def _show_file(self, kind: str, path: Path | None) -> None:
        if path is not None:
            self.console.print(f"{kind}: {escape(str(path))}")

    def note(self, text: str, *, doubt: bool = False) -> None:
        """Print one line, marked where it casts doubt."""
        mark = "[yellow]! [/] " if doubt else ""
        self.console.print(f"{mark}{escape(text)}", highlight=False, soft_wrap=True)

    def bar(self, text: str, total: int) -> _Bar:
        """A progress bar; a context that gives a function (done[, total])."""
        return _Bar(text, total, self.console)

    @contextmanager
    def status(self, text: str) -> Iterator[Callable[[str], None]]:
        """A line that changes while work of unknown length goes on; gives the function for it."""
        with self.console.status(text) as line:
            yield line.update

    def show(self, summary: RunSummary) -> None:
        """Print the tables of a run."""
        for said in summary.controllers.values():
            self.show_report(said.report(summary.units))
        self.show_report(
            report.Report(lines=[report.Line(text, "doubt") for text, _ in summary.findings])
        )
        self.console.print(_phase_table(summary))

    def show_report(self, shown: report.Report) -> None:
        """Print tables and lines."""
        for table in shown.tables:
            self.console.print(_rich(table))
        for text, level in shown.lines:
            color = COLORS_OF_LEVELS.get(level)
            line = f"[{color}]{escape(text)}[/]" if color else escape(text)
            self.console.print(line, highlight=False)


class _Bar:
    """A progress bar on a terminal, nothing elsewhere; gives a function (done[, total])."""

    def __init__(self, text: str, total: int, console: Console) -> None:
        visible = console.is_terminal and not console.quiet
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not visible,
        )
        self._task = self._progress.add_task(text, total=total)

    def __enter__(self) -> Any:
        self._progress.start()

        def advance(done: int, total: int | None = None) -> None:
            self._progress.update(self._task, completed=done, total=total)

        return advance

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()


def _rich(table: report.Table) -> Table:
    found = Table(
        title=escape(table.title),
        caption=escape(table.caption) or None,
        caption_justify="left",
        title_justify="left",
    )
    for number, name in enumerate(table.columns):
        found.add_column(escape(name), justify="left" if number in table.texts else "right")
    for row in table.rows:
        found.add_row(*map(escape, row))
    return found


def _phase_table(summary: RunSummary) -> Table:
    table = Table(
        title=f"{summary.steps} steps, {summary.time:g} {summary.units['time']} simulated: "
        f"{summary.ms_per_step:.3g} ms a step (median), real-time factor "
        f"{summary.real_time_factor:.3g}",
        title_justify="left",
    )
    table.add_column("phase")
    table.add_column("ms a step (mean)", justify="right")
    for phase, ms in summary.phases.items():
        table.add_row(phase, f"{ms:.3f}")
    return table
