"""Progress bar of a study."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from sofa_softctl.batch.execution.driver import Progress as Done


class Bar:
    """A bar with failures, rate and time left on a terminal, nothing elsewhere; a context."""

    def __init__(self, *, quiet: bool) -> None:
        console = Console(quiet=quiet)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("[yellow]{task.fields[failed]}[/]"),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
            speed_estimate_period=600.0,
        )
        self._task = self._bar.add_task("Running", total=None, failed="", rate="")

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()

    def show(self, done: Done) -> None:
        """See `driver.run_study`."""
        speed = self._bar.tasks[0].speed
        self._bar.update(
            self._task,
            total=done.total - done.before,
            completed=done.done,
            failed=f"{done.failed} failed" if done.failed else "",
            rate=f"{60.0 * speed:.3g} a minute" if speed else "",
        )
