"""Ctrl-C during calls into libraries that swallow it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupted_after() -> Iterator[None]:
    """Postpone Ctrl-C to the end of the block, and raise KeyboardInterrupt there.

    CasADi turns the exception into a failed solve, so that Ctrl-C would be lost.
    """
    if threading.current_thread() is not threading.main_thread():  # which alone gets signals
        yield
        return
    pressed = []
    before = signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt
