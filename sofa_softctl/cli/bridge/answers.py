"""Reads lines or keys from standard input without waiting: a terminal, or a pipe of answers."""

from __future__ import annotations

import os
import re
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
        """The next key: a character, 'up', 'down', or 'other'; None: there is none yet."""
        self._read()
        if found := _SPECIAL.match(self._waiting):
            self._waiting = self._waiting[found.end() :]
            return _ARROWS.get(found[0], "other")
        if not self._waiting or (_BEGUN.fullmatch(self._waiting) and not self.ended):
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


_SPECIAL = re.compile(r"\x1b(\[[0-9;]*[A-Za-z~]|O[A-Za-z])")
"""What a terminal sends for a key without a character, such as an arrow or F9."""
_BEGUN = re.compile(r"\x1b(\[[0-9;]*|O)?")
_ARROWS = {"\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down"}


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
