"""Formats of numbers and names, and a prefix for printed lines."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO

import numpy as np


def interval_text(low: float, high: float, value: float, start: float) -> str:
    """Return an interval as text, or words if it is not informative."""
    if not is_informative(low, high, value, start):
        return "not known alone"
    return f"{number(low, high - low)} to {number(high, high - low)}"


def is_informative(low: float, high: float, value: float, start: float) -> bool:
    """Return True if a finite interval is narrower than twice the value, or value or start is 0."""
    is_wide = high - low >= 2.0 * abs(value) and value != 0.0 and start != 0.0
    return bool(np.isfinite(high - low) and not is_wide)


def number(value: float, width: float) -> str:
    """Return a value, rounded to two digits of half its interval's width."""
    if not (np.isfinite(width) and width > 0.0):
        return f"{value:.5g}"
    digits = 1 - int(np.floor(np.log10(width / 2.0)))
    if not (0 <= digits <= 9 and abs(value) < 1e6):
        return f"{value:.5g}"
    return f"{round(value, digits) + 0.0:.{digits}f}"  # + 0.0 takes the sign from -0


def plural(number: int, noun: str) -> str:
    """Return '1 simulation', '2 simulations', '1 more is', '2 more are'."""
    if noun == "more":
        return f"{number} more {'is' if number == 1 else 'are'}"
    return f"{number} {noun}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a time in a suitable unit."""
    for length, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2.0 * length:
            return f"{seconds / length:.2g} {name}"
    return f"{seconds:.2g} s"


def format_value(value: Any) -> str:
    """Return a value of a row as text, numbers with five digits."""
    if isinstance(value, bool) or value is None:
        return {None: "", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, list):
        return f"[{', '.join(map(format_value, value))}]"
    return str(value)


class PrefixedStream(io.TextIOBase):
    """Text stream that begins every line with a prefix.

    Args:
        stream: Stream to write to.
        prefix: Beginning of every line.
    """

    def __init__(self, stream: TextIO, prefix: str) -> None:
        self._stream, self._prefix = stream, prefix
        self._at_start = True

    def write(self, text: str) -> int:
        """Write text with the prefix at the beginning of lines."""
        if not isinstance(text, str):  # click asks whether it takes bytes
            raise TypeError(f"write() takes text, not {type(text).__name__}")
        for line in text.splitlines(keepends=True):
            self._stream.write(f"{self._prefix}{line}" if self._at_start else line)
            self._at_start = line.endswith("\n")
        return len(text)

    def writable(self) -> bool:
        """Return True."""
        return True

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()


@contextmanager
def prefix_output(prefix: str) -> Iterator[None]:
    """Begin every line on standard output and standard error with `prefix`."""
    if not prefix:
        yield
        return
    out, errors = PrefixedStream(sys.stdout, prefix), PrefixedStream(sys.stderr, prefix)
    with redirect_stdout(out), redirect_stderr(errors):
        yield
