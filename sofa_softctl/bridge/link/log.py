"""Messages that the device process prints itself, when no scene may be connected."""

from __future__ import annotations

import os
import select
from contextlib import suppress

_STDERR = 2
_LINE_SIZE_MAX = 4000
"""A pipe that can be written to takes this much without waiting [bytes]."""


def print_stderr(text: str) -> None:
    """Write a line on the standard error output, unless that is closed, or would have to wait."""
    line = f"softctl device process: {text}\n".encode(errors="replace")[:_LINE_SIZE_MAX]
    with suppress(OSError, ValueError):
        if select.select([], [_STDERR], [], 0.0)[1]:
            os.write(_STDERR, line)
