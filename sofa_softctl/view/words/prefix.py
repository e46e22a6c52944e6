"""Words before every line that a command prints."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import TextIO


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
