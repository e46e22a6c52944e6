"""Order of causes: by decrease of the cost, with those that fit equally well together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sofa_softctl.identification.causes.cause import Cause

CONTRADICTION_WEIGHT = 0.5
"""Weight of the decrease of a cause that contradicts a prior or bound [-]."""


def order(cause: Cause) -> float:
    """Return a key for sorting causes, best first."""
    return -(CONTRADICTION_WEIGHT if cause.contradiction else 1.0) * cause.decrease


def join_ties(causes: Sequence[Cause], difference: float) -> list[Cause]:
    """Return causes with `alike`, and of those that fit equally well additions to the model first.

    Args:
        causes: Causes, best first.
        difference: Difference of decreases within which causes fit as well as the best one [-].
    """
    best = causes[0]
    ties = [
        cause.name
        for cause in causes
        if abs(best.decrease - cause.decrease) <= difference
        and bool(cause.contradiction) == bool(best.contradiction)
    ]
    joined = [
        replace(cause, alike=tuple(name for name in ties if name != cause.name))
        if cause.name in ties
        else cause
        for cause in causes
    ]
    return sorted(joined, key=lambda cause: not (cause.adds_to_model and cause.name in ties))
