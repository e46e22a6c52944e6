"""A time limit on calls into devices, so that one that hangs does not hold up the others."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from sofa_softctl.errors import DeviceTimeoutError

_what: list[str] = []


@contextmanager
def call_limit(what: str, seconds: float) -> Iterator[None]:
    """Interrupt a block that takes longer; in the main thread, not nested.

    A system call that waits is interrupted, as is Python code; a library that waits in a loop of
    its own, without Python, is not. Where the exception is swallowed it is raised again.

    Raises:
        DeviceTimeoutError: `what` did not return in time.
    """
    signal.signal(signal.SIGALRM, _raise)
    _what[:] = [f"{what} did not return within {seconds:g} s"]
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
        yield
    finally:
        try:
            _what.clear()
        finally:  # an alarm just before the line above raises there
            signal.setitimer(signal.ITIMER_REAL, 0.0)


def _raise(number: int, frame: FrameType | None) -> None:
    del number, frame
    if _what:
        raise DeviceTimeoutError(_what[0])
