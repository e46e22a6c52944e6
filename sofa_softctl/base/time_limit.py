"""Time limits on a block of code: by the alarm signal of Unix, or kept by work that checks it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from time import monotonic
from types import FrameType

from sofa_softctl.errors import TimeLimitError

RETRY_INTERVAL = 0.01
"""Time until the next alarm after one that would have been lost [s]."""
_END: ContextVar[float] = ContextVar("end of the time limit", default=inf)


@contextmanager
def time_limit(
    seconds: float, make_error: Callable[[FrameType | None], BaseException], *, interval: float
) -> Iterator[None]:
    """Raise an error in a block that takes longer; in the main thread, not nested.

    A waiting system call and Python code are interrupted; a loop of a compiled library is not.

    Args:
        seconds: Time after which the error is raised [s].
        make_error: Returns the error, given the frame that is being interrupted.
        interval: Time after which the error is raised again if the block caught it [s].
    """
    is_running = True

    def ring(signal_number: int, frame: FrameType | None) -> None:
        del signal_number
        if not is_running:
            return
        if _is_weakref_callback(frame):
            signal.setitimer(signal.ITIMER_REAL, RETRY_INTERVAL, interval)
            return
        raise make_error(frame)

    signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, interval)
        yield
    finally:
        try:
            is_running = False
        finally:  # an alarm just before the line above raises there
            signal.setitimer(signal.ITIMER_REAL, 0.0)


def _is_weakref_callback(frame: FrameType | None) -> bool:
    """Return True in a callback of a weak reference, from which Python drops every exception."""
    while frame is not None and frame.f_globals is globals():  # an alarm within an alarm
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") in ("_weakrefset", "weakref")


@contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Limit the time of a block: `check_time` raises in it when the time has passed.

    Args:
        seconds: Time from now on [s], or None for no limit.
    """
    token = _END.set(inf if seconds is None else monotonic() + seconds)
    try:
        yield
    finally:
        _END.reset(token)


def check_time() -> None:
    """Check that the time limit of the innermost `deadline` block has not passed.

    Raises:
        TimeLimitError: It has. Work that has an answer so far returns it then.
    """
    if monotonic() > _END.get():
        raise TimeLimitError("The time limit was reached.")
