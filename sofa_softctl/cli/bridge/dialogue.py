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
    """Input of the user.

    Args:
        descriptor: File descriptor to read from. Default: standard input.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self._descriptor = sys.stdin.fileno() if descriptor is None else descriptor
        self._waiting = ""
        self.ended = False
        """Whether the input has ended."""

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
        if match := _SPECIAL.match(self._waiting):
            self._waiting = self._waiting[match.end() :]
            return _ARROWS.get(match[0], "other")
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


def ask_line(answers: Answers, while_waiting: Callable[[], None]) -> str | None:
    """Return the next line, or None at the end of the input.

    Args:
        answers: The user's answers.
        while_waiting: Called repeatedly until there is a line.
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
    """Read keys as they are pressed, not line by line, if standard input is a terminal."""
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
    """Stop a robot that is moved by hand if space is pressed in the block.

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


MOVE_FRACTION = 0.05
"""Fraction of its range by which an actuator moves to show its direction."""


class DialogueAborted(Exception):
    """End of a dialogue by the user."""


class Dialogue:
    """Questions to the user, and motions by the answers.

    Args:
        hand: The hand on the robot.
        answers: The user's answers.
    """

    def __init__(self, hand: ManualControl, answers: Answers) -> None:
        self.hand, self.answers = hand, answers

    def choose(self, question: str, letters: Sequence[str], *, moved: bool = True) -> str:
        """Return one of some letters, also for words that begin with them.

        Args:
            question: The question.
            letters: The letters.
            moved: Whether the robot has moved, and has to be held.
        """
        while True:
            answer = self._line(question, moved)
            if answer[:1] in letters and answer in (*letters, "yes", "no", "skip", "again"):
                return answer[0]
            typer.echo(f"Expected {' or '.join(letters)}, got '{answer}'.")

    def distance(self, question: str) -> float | None:
        """Return a number, or None if the answer was ok."""
        while True:
            answer = self._line(question, True)
            if answer == "ok":
                return None
            try:
                number = float(answer)
            except ValueError:
                number = math.nan
            if math.isfinite(number):
                return number
            typer.echo(f"Expected a number or ok, got '{answer}'.")

    def _line(self, question: str, moved: bool) -> str:
        typer.echo(f"{question} > ", nl=False)
        answer = ask_line(self.answers, self.hand.tick if moved else self._wait)
        typer.echo("" if answer is None else answer)
        if answer is None or answer.lower() in ("q", "quit"):
            raise DialogueAborted
        return answer.lower().replace(",", ".")

    def _wait(self) -> None:
        """Wait without beginning to move."""
        self.hand.stream.poll()
        sleep(self.hand.period)

    def move_to(self, index: int, position: float) -> None:
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
        """Move an actuator a little and back, within limits; return True if it grew first."""
        start = float(self.hand.goal[index])
        move = MOVE_FRACTION * (high - low)
        turning_point = start + move if start + move <= high else start - move
        self.move_to(index, turning_point)
        self.move_to(index, start)
        return turning_point > start
