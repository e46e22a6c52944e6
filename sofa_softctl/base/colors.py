"""Colours that plots, movies and the view share.

Those that stand for things side by side differ for colour-blind readers too: by 12 in CIELAB or
more as simulated for full protanopia and deuteranopia, 8 for tritanopia, which is rare
(Machado, Oliveira, Fernandes 2009); `tests/base/test_colors.py` holds it.
"""

from __future__ import annotations

GOAL, TIP = "#c0392b", "#16637a"
"""Colours of an effector's goal and of its position."""
CONTACT = "#8f00e0"
"""Colour of contact forces."""
LIMIT = "#8c1c13"
"""Colour of limits and tolerances."""
UNSOLVED = "#d55e00"
"""Colour of steps that were not solved."""
OBSTACLE, GROUND = "#5d7fa3", "#c8ccd2"
"""Colours of a plan's obstacles, and of walls and floors."""
BODIES = ("#e3b7a0", "#9cc3e4", "#8aa66e", "#f3e9da")
"""Colours of the bodies of a movie, in turn."""
BALL = "#5f6f80"
"""Colour of spheres that collide."""
SLACK = "#262a33"
"""Colour of a cable that does not pull."""
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#4d4d4d", "#663300")
"""Colours for all other curves: six of Okabe and Ito, gray and brown."""
GRAY = "#5b6570"
"""Colour of texts and of references."""


def actuator(number: int) -> str:
    """Return the colour of an actuator, by its number in its controller."""
    return PALETTE[number % len(PALETTE)]


def body(number: int) -> str:
    """Return the colour of a body, by its number among those that are not obstacles."""
    return BODIES[number % len(BODIES)]


def effector(number: int, count: int) -> str:
    """Return the colour of an effector's tip: `TIP`, and paler from one effector to the next."""
    return pale(TIP, 0.65 * number / max(count - 1, 1))


def pale(color: str, fraction: float) -> str:
    """Mix a colour with a fraction of white."""
    channels = (int(color[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(
        f"{round(channel + fraction * (255 - channel)):02x}" for channel in channels
    )
