"""Numbers and names as text."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO

import numpy as np


def interval_text(low: float, high: float, value: float, start: float) -> str:
    """An interval as text; none where it reaches to twice the value and more."""
    if not known(low, high, value, start):
        return "not known alone"
    return f"{number(low, high - low)} to {number(high, high - low)}"


def known(low: float, high: float, value: float, start: float) -> bool:
    """Whether an interval is informative; it is where zero is as good a value as any."""
    wide = high - low >= 2.0 * abs(value) and value != 0.0 and start != 0.0
    return bool(np.isfinite(high - low) and not wide)


def number(value: float, width: float) -> str:
    """A value with two digits of half its interval's width."""
    if not (np.isfinite(width) and width > 0.0):
        return f"{value:.5g}"
    digits = 1 - int(np.floor(np.log10(width / 2.0)))
    if not (0 <= digits <= 9 and abs(value) < 1e6):
        return f"{value:.5g}"
    return f"{round(value, digits) + 0.0:.{digits}f}"  # + 0.0 takes the sign from -0


def counted(number: int, what: str) -> str:
    """'1 simulation', '2 simulations'; '1 more is', '2 more are'."""
    if what == "more":
        return f"{number} more {'is' if number == 1 else 'are'}"
    return f"{number} {what}{'' if number == 1 else 's'}"


def plain(value: Any) -> str:
    """A value of a row, numbers with few digits."""
    if isinstance(value, bool) or value is None:
        return {None: "", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, list):
        return f"[{', '.join(map(plain, value))}]"
    return str(value)


class Prefixed(io.TextIOBase):
    """A text stream that begins every line with some words.

    Args:
        stream: What it writes to.
        words: The words.
    """

    def __init__(self, stream: TextIO, words: str) -> None:
        self._stream, self._words = stream, words
        self._at_start = True

    def write(self, text: str) -> int:
        """Write, with the words where a line begins."""
        if not isinstance(text, str):  # click asks whether it takes bytes
            raise TypeError(f"write() takes text, not {type(text).__name__}")
        for line in text.splitlines(keepends=True):
            self._stream.write(f"{self._words}{line}" if self._at_start else line)
            self._at_start = line.endswith("\n")
        return len(text)

    def writable(self) -> bool:
        """It is."""
        return True

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()


@contextmanager
def prefixed(words: str) -> Iterator[None]:
    """Begin every line on standard output and standard error with these words; empty: nothing."""
    if not words:
        yield
        return
    out, errors = Prefixed(sys.stdout, words), Prefixed(sys.stderr, words)
    with redirect_stdout(out), redirect_stderr(errors):
        yield
