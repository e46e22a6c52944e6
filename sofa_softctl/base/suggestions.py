"""Words of messages: suggestions for unknown names, sentences."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path


def nearest(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """Known names most similar to one, nearest first; case-insensitive.

    Args:
        name: The name.
        known: Names that there are.
        most: How many to give at most.
        cutoff: Least similarity, from 0 to 1.
    """
    by_lower = {each.lower(): each for each in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=most, cutoff=cutoff)
    return [by_lower[each] for each in found]


def did_you_mean(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> str:
    """Question " Did you mean ...?" with similar known names; empty if there is none."""
    found = nearest(name, known, most, cutoff)
    return f" Did you mean {' or '.join(map(repr, found))}?" if found else ""


def files_like(path: Path, suffixes: Sequence[str]) -> list[str]:
    """Names of files beside a path that does not exist, with one of some suffixes, nearest first.

    Neither folders nor the path itself.
    """
    try:
        beside = [e.name for e in path.parent.iterdir() if e.suffix.lower() in suffixes]
    except OSError:
        return []
    others = (name for name in sorted(beside) if name != path.name)
    return nearest(path.name, [name for name in others if (path.parent / name).is_file()], most=3)


def some(names: Sequence[str], *, near: str = "", most: int = 8) -> str:
    """Names for a message: all if they are few, otherwise the closest ones and a count."""
    if len(names) <= most:
        return ", ".join(names)
    close = nearest(near, names, most) if near else []
    first = [*close, *(name for name in names if name not in close)][:most]
    return f"{', '.join(first)} and {len(names) - most} more"


def sentence(text: str) -> str:
    """The text with a full stop at its end."""
    text = text.rstrip()
    return text if text.endswith((".", "!", "?")) else f"{text}."
