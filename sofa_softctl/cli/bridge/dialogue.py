"""Questions about a robot that is moved by hand; it is held while the user thinks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from time import sleep
from typing import TYPE_CHECKING

import typer

from sofa_softctl.cli.bridge.answers import Answers, ask

if TYPE_CHECKING:
    from sofa_softctl.bridge.hand import Hand

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

    def __init__(self, hand: Hand, answers: Answers) -> None:
        self.hand, self.answers = hand, answers

    def choose(self, question: str, known: Sequence[str], *, moved: bool = True) -> str:
        """One of some letters, or of the words that begin with them.

        Args:
            question: The question.
            known: The letters.
            moved: Whether the robot is moved already, and has to be held.
        """
        while True:
            found = self._line(question, moved)
            if found[:1] in known and found in (*known, "yes", "no", "skip", "again"):
                return found[0]
            typer.echo(f"Expected {' or '.join(known)}, got '{found}'.")

    def distance(self, question: str) -> float | None:
        """A number; None: the answer was ok."""
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
