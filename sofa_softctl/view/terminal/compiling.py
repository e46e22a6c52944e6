"""Lines on the error stream while kernels are compiled, so that nobody waits without a word."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

INTERVAL = 5.0
"""Time between two lines [s]."""


def show_compilation(count: int, left: Callable[[], int]) -> None:
    """Say that kernels are being compiled, and every few seconds how many are left.

    Args:
        count: Number of kernels that are expected to be compiled.
        left: Counts those that are not there yet.
    """
    _say(f"Compiling {count} kernels for this computer, once; later runs start at once.")
    threading.Thread(target=_count_down, args=(count, left), daemon=True).start()


def _count_down(count: int, left: Callable[[], int]) -> None:
    remaining = count
    while remaining:
        time.sleep(INTERVAL)
        before, remaining = remaining, left()
        if 0 < remaining < before:
            _say(f"{remaining} of {count} kernels left.")


def _say(text: str) -> None:
    if sys.stderr is not None and not sys.stderr.closed:
        print(text, file=sys.stderr, flush=True)
