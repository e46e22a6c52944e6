"""Time limit of work that returns its best answer so far."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from time import monotonic

from sofa_softctl.errors import TimeLimitError

_END: ContextVar[float] = ContextVar("end of the time limit", default=inf)


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
