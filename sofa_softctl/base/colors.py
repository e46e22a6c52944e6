"""Colours that all plots and the movie share."""

from __future__ import annotations

GOAL, TIP = "#c0392b", "#16637a"
"""Colours of an effector's goal and of its position."""
CONTACT = "#7b2d8b"
"""Colour of contact forces."""
LIMIT = "#8c1c13"
"""Colour of limits and tolerances."""
UNSOLVED = "#d55e00"
"""Colour of steps that were not solved."""
OBSTACLE, GROUND = "#5d7fa3", "#c8ccd2"
"""Colours of a plan's obstacles, and of walls and floors."""
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#4d4d4d", "#b8a900")
"""Colours for all other curves: safe for colour-blind readers (Okabe and Ito)."""
GRAY = "#5b6570"
"""Colour of texts and of references."""


def actuator(number: int) -> str:
    """Return the colour of an actuator, by its number in its controller."""
    return PALETTE[number % len(PALETTE)]


def effector(number: int, count: int) -> str:
    """Return the colour of an effector's tip: `TIP`, and paler from one effector to the next."""
    return pale(TIP, 0.65 * number / max(count - 1, 1))


def pale(color: str, fraction: float) -> str:
    """Mix a colour with a fraction of white."""
    channels = (int(color[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(
        f"{round(channel + fraction * (255 - channel)):02x}" for channel in channels
    )
