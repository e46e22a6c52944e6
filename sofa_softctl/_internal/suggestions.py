"""What a user may have meant by a name that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


def nearest(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The known names that look most like one, nearest first; capitals do not matter."""
    by_lower = {each.lower(): each for each in known}
    return [by_lower[each] for each in difflib.get_close_matches(name.lower(), by_lower, n=most)]


def did_you_mean(name: str, known: Iterable[str], most: int = 1) -> str:
    """A question that ends a sentence: was this known name meant? Empty where none is near."""
    found = nearest(name, known, most)
    return f" Did you mean {' or '.join(map(repr, found))}?" if found else ""


def some(names: Sequence[str], *, near: str = "", most: int = 8) -> str:
    """Names for a message: all if they are few, otherwise the closest to one, and how many more."""
    if len(names) <= most:
        return ", ".join(names)
    close = nearest(near, names, most) if near else []
    first = [*close, *(name for name in names if name not in close)][:most]
    return f"{', '.join(first)} and {len(names) - most} more"
