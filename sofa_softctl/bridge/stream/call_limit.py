"""A time limit on calls into devices, so that one that hangs does not hold up the others."""

from __future__ import annotations

from contextlib import AbstractContextManager

from sofa_softctl.base.time_limit import time_limit
from sofa_softctl.errors import DeviceTimeoutError


def call_limit(what: str, seconds: float) -> AbstractContextManager[None]:
    """Interrupt a block that takes longer; in the main thread, not nested.

    Raises:
        DeviceTimeoutError: `what` did not return in time.
    """
    text = f"{what} did not return within {seconds:g} s"
    return time_limit(seconds, lambda frame: DeviceTimeoutError(text), interval=seconds)
