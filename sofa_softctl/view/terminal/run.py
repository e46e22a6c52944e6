"""What the command line shows: progress, tables, errors."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from sofa_softctl.errors import SoftctlError
from sofa_softctl.scene import report
from sofa_softctl.scene.run import RunSummary, run, step_count
from sofa_softctl.scene.session import Session

DEFAULT_DURATION = 2.0
"""Simulated time of a run when neither the user nor the scene says (DURATION in the scene)."""


COLORS_OF_LEVELS = {"good": "green", "doubt": "yellow"}
"""Of sentences that say how it went."""


class Terminal:
    """Runs sessions for people: a bar while it runs, a table at the end, pictures if asked."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.console = Console(quiet=quiet)

    def run(
        self,
        session: Session,
        steps: int | None,
        duration: float | None,
        *,
        record: Path | None = None,
        plot: Path | None = None,
        movie: Path | None = None,
    ) -> RunSummary:
        """Run a session and show what came out.

        Args:
            session: The session.
            steps: Steps to do.
            duration: Simulated time to run instead; the scene's own when neither is given.
            record: MCAP file to write.
            plot: Plot to write.
            movie: Movie to write.
        """
        camera = None
        if movie is not None:
            from sofa_softctl.view.movie.capture import Camera

            camera = Camera(session, movie)
        total = step_count(session, steps, duration, session.duration or DEFAULT_DURATION)
        with ExitStack() as stack:
            if record is not None:
                stack.enter_context(session.recording(record))
            advance = stack.enter_context(self.bar("Simulating", total))

            def on_step(done: int) -> None:
                if camera is not None:
                    camera.look()
                advance(done)

            summary, histories = run(session, total, on_step)
        self.show(summary)
        if plot is not None:
            from sofa_softctl.view.plots.run import save_run_plot

            save_run_plot(plot, histories)
        if camera is not None:
            with self.bar("Rendering", 1) as advance:
                camera.save(progress=advance)
        for name, path in (("Record", record), ("Plot", plot), ("Movie", movie)):
            if path is not None:
                self.console.print(f"{name}: {escape(str(path))}")
        return summary

    def tell(self, text: str, *, doubt: bool = False) -> None:
        """One line for people to know, or with a mark to doubt."""
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
            shown = said.report(summary.units)
            for table in shown.tables:
                self.console.print(_rich(table))
            for text, level in shown.lines:
                color = COLORS_OF_LEVELS.get(level)
                line = f"[{color}]{escape(text)}[/]" if color else escape(text)
                self.console.print(line, highlight=False)
        self.console.print(_phase_table(summary))


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


def show_profile(profile: Any) -> None:
    """Print a benchmark."""
    table = Table(
        title=f"{profile.scene}: {profile.dofs} degrees of freedom, {profile.steps} steps on the "
        f"{profile.backend}",
        caption=f"Median {profile.ms_per_step:.3f} ms a step, 95 % within {profile.ms_p95:.3f} ms; "
        f"the first one {profile.first_step_s:.2f} s.",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("phase")
    table.add_column("ms a step", justify="right")
    table.add_column("share", justify="right")
    total = sum(profile.phases.values()) or 1.0
    for phase, ms in sorted(profile.phases.items(), key=lambda entry: -entry[1]):
        table.add_row(phase, f"{ms:.3f}", f"{ms / total:.0%}")
    Console().print(table)


def show_comparison(comparison: Any, tolerance: float) -> None:
    """Print a comparison of the backends, and whether they agree."""
    console = Console()
    for name, backend in zip(("embedded", "SOFA"), comparison.backends, strict=True):
        console.print(f"{name}: {escape(backend)}", highlight=False, soft_wrap=True)
    table = Table(
        title=f"{comparison.scene}: {comparison.dofs} degrees of freedom, {comparison.steps} steps",
        title_justify="left",
    )
    for column in ("ms a step", "embedded", "SOFA", "ratio"):
        table.add_column(column, justify="left" if column == "ms a step" else "right")
    first, second = comparison.phases
    for phase in dict.fromkeys([*second, *first]):
        ms = first.get(phase, 0.0), second.get(phase, 0.0)
        table.add_row(phase, *(f"{value:.3f}" for value in ms), _ratio(*ms))
    table.add_section()
    ms = comparison.ms_per_step
    table.add_row("all, median", *(f"{value:.3f}" for value in ms), _ratio(*ms))
    console.print(table)
    worst = max(comparison.deviation, key=lambda name: comparison.deviation[name].max())
    agree = comparison.deviation_max <= tolerance
    console.print(
        f"{'Same motion' if agree else '[red]Different motion[/]'}: the largest deviation is "
        f"{comparison.deviation_max:.1e} of the robot's size ({comparison.size:.4g}), at "
        f"{escape(worst)}; allowed are {tolerance:g}.",
        highlight=False,
        soft_wrap=True,
    )


def _ratio(first: float, second: float) -> str:
    return f"{first / second:.2f}" if second > 0.0 else ""


def show_components(name: str | None) -> None:
    """Print all components, or the Data and links of one.

    Raises:
        SoftctlError: there is no component of that name.
    """
    from sofa_softctl.runtime.core import factory
    from sofa_softctl.runtime.core.component import Component

    console = Console()
    if name is None:
        table = Table("component", "also called", "what it is")
        for kind in sorted(set(factory.components().values()), key=lambda kind: kind.__name__):
            first_line = (kind.__doc__ or "").strip().split("\n")[0]
            table.add_row(kind.__name__, ", ".join(kind.aliases), escape(first_line))
        console.print(table)
        return
    kind_found = factory.find(name)
    if kind_found is None:
        raise SoftctlError(factory.explain_unknown(name))
    console.print(escape(inspect.cleandoc(kind_found.__doc__ or "")), highlight=False)
    table = Table("Data", "default", "unit", "what it is")
    common = Component.data_types
    for entry in sorted(kind_found.data_types.values(), key=lambda entry: entry.name in common):
        text = entry.help + (" (read-only)" if entry.read_only else "")
        if entry.choices:
            text += f" One of: {', '.join(entry.choices)}."
        names = ", ".join((entry.name, *entry.aliases))
        table.add_row(names, escape(str(entry.default)), entry.unit, escape(text))
    for link in kind_found.link_types.values():
        table.add_row(link.name, "", "link", escape(link.help))
    console.print(table)


def show_plugins(plugins: Any) -> None:
    """Print the plugins and their controllers."""
    table = Table("plugin", "controllers")
    for name in plugins.names:
        brought = [key for key, entry in plugins.controllers.items() if entry.plugin == name]
        table.add_row(escape(name), ", ".join(brought))
    Console().print(table)


def show_diagnosis(findings: list[Any]) -> None:
    """Print what was looked at, and below it what to do."""
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")  # paths are long words
    for finding in findings:
        mark = "[green]ok[/]" if finding.good else "[bold red]no[/]"
        table.add_row(mark, escape(finding.subject), escape(finding.text))
        if finding.advice:
            style = "cyan" if finding.good else "yellow"
            table.add_row("", "", f"[{style}]{escape(finding.advice)}[/]")
    Console().print(table, highlight=False)


def show_error(error: Exception) -> None:
    """Print an error of ours: its message, and the lines of the user's own files that led to it."""
    console = Console(stderr=True, soft_wrap=True)  # lines of a terminal are not broken: 'file:7'
    console.print(f"[bold red]Error:[/] {escape(str(error))}", highlight=False)
    for frame in user_frames(error):
        place = f"{frame.filename}:{frame.lineno}"
        console.print(f"  at {escape(place)}: {escape(frame.line or '')}", highlight=False)


def show_users_error(error: Exception) -> None:
    """Print an error of the user's own code as Python does, without the lines of this package."""
    print("Traceback (most recent call last):", file=sys.stderr)
    frames = traceback.StackSummary.from_list(user_frames(error))
    print("".join(frames.format()), end="", file=sys.stderr)
    print("".join(traceback.format_exception_only(error)), end="", file=sys.stderr)


def user_frames(error: Exception) -> list[traceback.FrameSummary]:
    """The lines of files that belong neither to this package nor to Python, innermost last."""
    own = str(Path(__file__).parents[2])
    return [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((own, sys.prefix, sys.base_prefix, "<"))
    ]
