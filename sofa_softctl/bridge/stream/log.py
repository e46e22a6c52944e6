"""What the device process says to users itself, when no scene may be there to do it."""

from __future__ import annotations

import sys
from contextlib import suppress


def say(text: str) -> None:
    """Print a line on the standard error output, if that still leads anywhere."""
    with suppress(OSError, ValueError):
        print(f"softctl device process: {text}", file=sys.stderr, flush=True)
