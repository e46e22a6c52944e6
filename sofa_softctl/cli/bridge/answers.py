"""Reads lines or keys from standard input without waiting: a terminal, or a pipe of answers."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Answers:
    """What the user types.

    Args:
        descriptor: To read from; None: standard input.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self._descriptor = sys.stdin.fileno() if descriptor is None else descriptor
        self._waiting = ""
        self.ended = False
        """Whether nothing can come any more."""

    def line(self) -> str | None:
        """The next line without its end; None: there is none yet. At the end, an empty rest."""
        self._read()
        first, end, rest = self._waiting.partition("\n")
        if not end:
            return None
        self._waiting = rest
        return first.strip()

    def key(self) -> str | None:
        """The next key: a character, or 'up', 'down', 'left', 'right'; None: there is none yet."""
        self._read()
        for code, name in _ARROWS.items():
            if self._waiting.startswith(code):
                self._waiting = self._waiting[len(code) :]
                return name
        begun = any(code.startswith(self._waiting) for code in _ARROWS)  # also if nothing came
        if not self._waiting or (begun and not self.ended):
            return None
        first, self._waiting = self._waiting[0], self._waiting[1:]
        return first

    def _read(self) -> None:
        while not self.ended and select.select([self._descriptor], [], [], 0.0)[0]:
            try:
                raw = os.read(self._descriptor, 4096)
            except OSError:  # a terminal that was closed
                raw = b""
            self.ended = not raw
            self._waiting += raw.decode(errors="replace")


_ARROWS = {
    f"\x1b{start}{letter}": name
    for start in "[O"
    for letter, name in zip("ABCD", ("up", "down", "right", "left"), strict=True)
}


def ask(answers: Answers, while_waiting: Callable[[], None]) -> str | None:
    """The next line; None: input ended.

    Args:
        answers: The user's answers.
        while_waiting: Called again and again until there is one.
    """
    while True:
        found = answers.line()
        if found is not None:
            return found
        if answers.ended:
            return None
        while_waiting()


@contextmanager
def keys_at_once() -> Iterator[None]:
    """Get keys as they are pressed, not line by line, where standard input is a terminal."""
    descriptor = sys.stdin.fileno()
    if not os.isatty(descriptor):
        yield
        return
    import termios
    import tty

    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSADRAIN)  # keeps keys that were pressed before
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
