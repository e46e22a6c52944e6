"""Questions to a person at a robot: answers, keys, the key that stops."""

from __future__ import annotations

import os
import re
import select
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from sofa_softctl.errors import DeviceError
from sofa_softctl.status import ExitStatus

if TYPE_CHECKING:
    from sofa_softctl.bridge.hand import ManualControl
import math
from collections.abc import Sequence
from time import sleep
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sofa_softctl.bridge.hand import ManualControl


class Answers:
    """What the user types.

    Args:
        descriptor: File descriptor to read from. Default: standard input.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self._descriptor = sys.stdin.fileno() if descriptor is None else descriptor
        self._waiting = ""
        self.ended = False
        """Whether nothing can come any more."""

    def line(self) -> str | None:
        """Return the next line without its end, or None if there is none yet; "" at the end."""
        self._read()
        first, end, rest = self._waiting.partition("\n")
        if not end:
            return None
        self._waiting = rest
        return first.strip()

    def key(self) -> str | None:
        """Return the next key: a character, 'up', 'down' or 'other', or None if there is none."""
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
"""Escape sequence of a key without a character, such as an arrow or F9."""
_BEGUN = re.compile(r"\x1b(\[[0-9;]*|O)?")
_ARROWS = {"\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down"}


def ask(answers: Answers, while_waiting: Callable[[], None]) -> str | None:
    """The next line; None: input ended.

    Args:
        answers: The user's answers.
        while_waiting: Called again and again until there is one.
    """
    while True:
        line = answers.line()
        if line is not None:
            return line
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


KEY = " "
HELP = "Space stops all motors at once."
STOPPED = "Stopped: all motors stay where they are."


@contextmanager
def stop_key(stop: Callable[[], None]) -> Iterator[bool]:
    """Call `stop`, from a separate thread, whenever space is pressed; other keys do nothing.

    Gives whether it does: standard input has to be a terminal that this process may read, which
    in a script, a service or a job in the background it is not.
    """
    if not _is_ours():
        yield False
        return
    ended, end = os.pipe()
    thread = threading.Thread(target=_watch, args=(ended, stop), daemon=True)
    with keys_at_once():
        thread.start()
        try:
            yield True
        finally:
            os.close(end)
            thread.join()
            os.close(ended)


@contextmanager
def space_stops(hand: ManualControl) -> Iterator[None]:
    """Space stops a robot that is moved by hand while this is open.

    Raises:
        typer.Exit: It was stopped so.
        DeviceError: It was held, or stopped by something else.
    """
    pressed = threading.Event()

    def stop() -> None:
        pressed.set()
        hand.stream.stop_now()

    with stop_key(stop):
        try:
            yield
        except DeviceError:
            if not pressed.is_set():
                raise
            typer.echo(STOPPED, err=True)
            raise typer.Exit(ExitStatus.INTERRUPTED) from None


def _is_ours() -> bool:
    try:
        descriptor = sys.stdin.fileno()
        return os.isatty(descriptor) and os.tcgetpgrp(descriptor) == os.getpgrp()
    except (OSError, ValueError, AttributeError):  # closed, or none
        return False


def _watch(ended: int, stop: Callable[[], None]) -> None:
    answers = Answers()
    while not answers.ended:
        if ended in select.select([sys.stdin.fileno(), ended], [], [])[0]:
            return
        while (key := answers.key()) is not None:
            if key == KEY:
                stop()


MOVE = 0.05
"""Share of its range by which an actuator moves to show its direction."""


class Aborted(Exception):
    """The user ended it."""


class Dialogue:
    """Asks, and moves actuators as the answers say.

    Args:
        hand: The hand on the robot.
        answers: The user's answers.
    """

    def __init__(self, hand: ManualControl, answers: Answers) -> None:
        self.hand, self.answers = hand, answers

    def choose(self, question: str, letters: Sequence[str], *, moved: bool = True) -> str:
        """One of some letters, or of the words that begin with them.

        Args:
            question: The question.
            letters: The letters.
            moved: Whether the robot is moved already, and has to be held.
        """
        while True:
            answer = self._line(question, moved)
            if answer[:1] in letters and answer in (*letters, "yes", "no", "skip", "again"):
                return answer[0]
            typer.echo(f"Expected {' or '.join(letters)}, got '{answer}'.")

    def distance(self, question: str) -> float | None:
        """Return a number, or None if the answer was ok."""
        while True:
            found = self._line(question, True)
            if found == "ok":
                return None
            try:
                number = float(found)
            except ValueError:
                number = math.nan
            if math.isfinite(number):
                return number
            typer.echo(f"Expected a number or ok, got '{found}'.")

    def _line(self, question: str, moved: bool) -> str:
        typer.echo(f"{question} > ", nl=False)
        found = ask(self.answers, self.hand.tick if moved else self._wait)
        typer.echo("" if found is None else found)
        if found is None or found.lower() in ("q", "quit"):
            raise Aborted
        return found.lower().replace(",", ".")

    def _wait(self) -> None:
        """Wait without beginning to move."""
        self.hand.stream.poll()
        sleep(self.hand.period)

    def go(self, index: int, position: float) -> None:
        """Move an actuator, and wait until it is there; beyond its limits it is not moved."""
        hand = self.hand
        low, high, unit = hand.low[index], hand.high[index], hand.actuators[index].unit
        if not low <= position <= high:
            typer.echo(
                f"It may go from {low:.4g} to {high:.4g} {unit}, not to {position:.4g}: it stays "
                f"at {hand.goal[index]:.4g}."
            )
            return
        hand.go(index, position)
        while not hand.arrived:
            hand.tick()

    def show(self, index: int, low: float, high: float) -> bool:
        """Move an actuator a little and back, within limits; whether its position grew first."""
        start = float(self.hand.goal[index])
        move = MOVE * (high - low)
        there = start + move if start + move <= high else start - move
        self.go(index, there)
        self.go(index, start)
        return there > start
