"""Colours of things: the same in every plot and in the movie."""

from __future__ import annotations

GOAL, TIP = "#c0392b", "#16637a"
"""Of where effectors shall be, and of where they are."""
CONTACT = "#7b2d8b"
"""Of contact forces."""
LIMIT = "#8c1c13"
"""Of limits and tolerances."""
UNSOLVED = "#d55e00"
"""Of steps that were not solved."""
OBSTACLE, GROUND = "#5d7fa3", "#c8ccd2"
"""Of what a plan keeps out of; of walls and floors."""
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#4d4d4d", "#b8a900")
"""Of what has no colour of its own: safe for colour-blind readers (Okabe and Ito)."""
GRAY = "#5b6570"
"""Of texts, and of what others are compared with."""


def actuator(number: int) -> str:
    """Colour of an actuator, by its number in its controller."""
    return PALETTE[number % len(PALETTE)]


def effector(number: int, count: int) -> str:
    """Colour of the tip of one of so many effectors: `TIP`, and paler from one to the next."""
    return pale(TIP, 0.65 * number / max(count - 1, 1))


def pale(color: str, share: float) -> str:
    """A colour with so much white in it."""
    parts = (int(color[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round(part + share * (255 - part)):02x}" for part in parts)
