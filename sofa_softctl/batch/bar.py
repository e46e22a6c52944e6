"""Progress of a study: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
from time import monotonic

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from sofa_softctl.batch.execution.driver import Progress as Done

LINE_INTERVAL = 60.0
"""Interval between two lines without a terminal, as in the log of a job [s]."""


class Bar:
    """Runs done, failures, and rate, while a study runs; a context."""

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
        self._lines = not (quiet or console.is_terminal)
        self._begun = self._last_line = monotonic()

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()

    def show(self, progress: Done) -> None:
        """Show the progress of `driver.run_study`."""
        speed = self._bar.tasks[0].speed
        total = progress.total - progress.before
        failed = f"{progress.failed:,} failed" if progress.failed else ""
        self._bar.update(
            self._task,
            total=total,
            completed=progress.done,
            failed=failed,
            rate=_per_minute(speed) if speed else "",
        )
        now = monotonic()
        if self._lines and progress.done and now > self._last_line + LINE_INTERVAL:
            self._last_line = now
            rate = _per_minute(progress.done / (now - self._begun))
            words = (f"{progress.done:,} of {total:,} runs", failed, rate)
            print(", ".join(filter(None, words)), file=sys.stderr, flush=True)


def _per_minute(speed: float) -> str:
    return f"{60.0 * speed:.3g} a minute"
