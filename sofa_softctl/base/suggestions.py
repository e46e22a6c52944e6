"""Parts of messages: suggestions for unknown names, lists of names, sentences."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path


def nearest_names(
    name: str, valid_names: Iterable[str], count_max: int = 1, cutoff: float = 0.6
) -> list[str]:
    """Return the known names most similar to a name, nearest first; case-insensitive.

    Args:
        name: Name to look for.
        valid_names: Valid names.
        count_max: Largest number of names to return.
        cutoff: Smallest similarity, from 0 to 1.
    """
    by_lower = {candidate.lower(): candidate for candidate in valid_names}
    matches = difflib.get_close_matches(name.lower(), by_lower, n=count_max, cutoff=cutoff)
    return [by_lower[candidate] for candidate in matches]


def did_you_mean(
    name: str, valid_names: Iterable[str], count_max: int = 1, cutoff: float = 0.6
) -> str:
    """Return " Did you mean ...?" with similar known names, or ""."""
    matches = nearest_names(name, valid_names, count_max, cutoff)
    return f" Did you mean {' or '.join(map(repr, matches))}?" if matches else ""


def files_like(path: Path, suffixes: Sequence[str]) -> list[str]:
    """Return names of files next to a missing path, with one of some suffixes, nearest first."""
    try:
        names = [e.name for e in path.parent.iterdir() if e.suffix.lower() in suffixes]
    except OSError:
        return []
    candidates = (name for name in sorted(names) if name != path.name)
    return nearest_names(
        path.name, [name for name in candidates if (path.parent / name).is_file()], count_max=3
    )


def list_names(names: Sequence[str], *, similar_to: str = "", count_max: int = 8) -> str:
    """Return names for a message: all if they are few, otherwise the closest ones and a count."""
    if len(names) <= count_max:
        return ", ".join(names)
    closest = nearest_names(similar_to, names, count_max) if similar_to else []
    listed = [*closest, *(name for name in names if name not in closest)][:count_max]
    return f"{', '.join(listed)} and {len(names) - count_max} more"


def sentence(text: str) -> str:
    """Return the text with a full stop at its end."""
    text = text.rstrip()
    return text if text.endswith((".", "!", "?")) else f"{text}."
