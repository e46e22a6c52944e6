"""Errors and compilations on the terminal."""

from __future__ import annotations

import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable

from rich.console import Console
from rich.markup import escape

from sofa_softctl.errors import PluginError
from sofa_softctl.plugins import user_frames


def show_error(error: Exception) -> None:
    """Print an error of softctl: its message, and the lines of the user's files that led to it.

    If a plugin raised, its lines are printed too.
    """
    console = Console(stderr=True, soft_wrap=True)  # lines of a terminal are not broken: 'file:7'
    console.print(f"[bold red]Error:[/] {escape(str(error))}", highlight=False)
    frames = user_frames(error)
    if isinstance(error, PluginError) and error.__cause__ is not None:
        frames += user_frames(error.__cause__)
    for frame in frames:
        location = f"{frame.filename}:{frame.lineno}"
        console.print(f"  at {escape(location)}: {escape(frame.line or '')}", highlight=False)
    for note in getattr(error, "__notes__", ()):
        console.print(escape(note), highlight=False)


def show_users_error(error: Exception) -> None:
    """Print an error of the user's own code as Python does, without the lines of this package."""
    print("Traceback (most recent call last):", file=sys.stderr)
    frames = traceback.StackSummary.from_list(user_frames(error))
    print("".join(frames.format()), end="", file=sys.stderr)
    print("".join(traceback.format_exception_only(error)), end="", file=sys.stderr)


def show_fault(error: Exception) -> None:
    """Print the line at which softctl failed, and write the whole traceback to a file."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    with tempfile.NamedTemporaryFile(
        "w", prefix="softctl-", suffix=".txt", delete=False, encoding="utf-8", errors="replace"
    ) as file:
        file.write("".join(traceback.format_exception(error)))
    console = Console(stderr=True, soft_wrap=True)
    console.print(
        f"[bold red]Error:[/] softctl failed at {escape(f'{frame.filename}:{frame.lineno}')}: "
        f"{escape(''.join(traceback.format_exception_only(error)).strip())}",
        highlight=False,
    )
    console.print(
        f"This is a fault of softctl, or of a package that it uses. Please report it with the "
        f"traceback in {escape(file.name)}.",
        highlight=False,
    )


def show_compilation(count: int, left: Callable[[], int]) -> None:
    """Print that kernels are being compiled, and every five seconds the number of remaining ones.

    Args:
        count: Number of kernels that are expected to be compiled.
        left: Returns the number of remaining kernels.
    """
    _print_error(f"Compiling {count} kernels for this computer, once; later runs start at once.")
    threading.Thread(target=_count_down, args=(count, left), daemon=True).start()


def _count_down(count: int, left: Callable[[], int]) -> None:
    remaining = count
    while remaining:
        time.sleep(5.0)
        previous, remaining = remaining, left()
        if 0 < remaining < previous:
            _print_error(f"{remaining} of {count} kernels left.")


def _print_error(text: str) -> None:
    if sys.stderr is not None and not sys.stderr.closed:
        print(text, file=sys.stderr, flush=True)
