"""Ctrl-C during calls into libraries that swallow it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupted_after() -> Iterator[None]:
    """Postpone Ctrl-C to the end of the block, and raise KeyboardInterrupt there.

    CasADi turns the exception into a failed solve, so that Ctrl-C would be lost, and SofaPython3
    prints it; a step of a simulation would be half done. Pressed again, it is raised at once.
    Inside another such block it waits for the end of that one.
    """
    inside = isinstance(signal.getsignal(signal.SIGINT), _Postponed)
    if inside or threading.current_thread() is not threading.main_thread():  # it alone gets signals
        yield
        return
    waiting = _Postponed()
    before = signal.signal(signal.SIGINT, waiting)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if waiting.pressed:
        raise KeyboardInterrupt


class _Postponed:
    """A handler that remembers the first Ctrl-C, and raises the second."""

    def __init__(self) -> None:
        self.pressed = False

    def __call__(self, *_: object) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True
