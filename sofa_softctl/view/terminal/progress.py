"""Progress of long work: a line that changes in place, or new lines where lines cannot change."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

LINE_INTERVAL = 8.0
"""Time between two lines in a pipe or file [s], so that none is silent for ten seconds."""


class StatusLine:
    """Line on work of unknown length, with its time so far.

    Args:
        content: Text, or an object whose `str` is the present text.
    """

    def __init__(self, content: Any) -> None:
        self._content, self._start = content, perf_counter()

    def update(self, content: Any) -> None:
        """Show another text, or an object."""
        self._content = content

    def __str__(self) -> str:
        """Return the line."""
        minutes, seconds = divmod(int(perf_counter() - self._start), 60)
        return f"{minutes}:{seconds:02d} {self._content}"

    def __rich__(self) -> Text:
        """Return the line, without markup."""
        return Text(str(self))


@contextmanager
def printed_lines(line: Callable[[], str]) -> Iterator[None]:
    """Print a line on standard error every few seconds while the block runs."""
    ended = Event()

    def print_lines() -> None:
        with suppress(OSError, ValueError):  # standard error may be closed
            while not ended.wait(LINE_INTERVAL) and sys.stderr is not None:
                print(line(), file=sys.stderr, flush=True)

    thread = Thread(target=print_lines, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class Bar:
    """Progress bar on a terminal, lines elsewhere; yields a function of (count[, total])."""

    def __init__(self, text: str, total: int, console: Console) -> None:
        is_visible = console.is_terminal and not console.quiet
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not is_visible,
        )
        self._task = self._progress.add_task(text, total=total)
        self._lines = None if is_visible or console.quiet else printed_lines(self._line)

    def _line(self) -> str:
        task = self._progress.tasks[0]
        return f"{task.description}: {task.completed:g} of {task.total:g}"

    def __enter__(self) -> Any:
        self._progress.start()
        if self._lines is not None:
            self._lines.__enter__()

        def advance(count: int, total: int | None = None) -> None:
            self._progress.update(self._task, completed=count, total=total)

        return advance

    def __exit__(self, *exception: object) -> None:
        if self._lines is not None:
            self._lines.__exit__(None, None, None)
        self._progress.stop()
