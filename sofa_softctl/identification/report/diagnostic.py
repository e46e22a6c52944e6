"""One diagnostic of an estimate, and lists of names in its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NAMES_MAX = 3
"""Number of names that are printed of a long list."""

Level = Literal["good", "look", "bad"]
"""No problem; check; do not trust the result."""


@dataclass(frozen=True)
class Diagnostic:
    """One sentence on the quality of an estimate."""

    level: Level
    """Severity."""
    text: str
    """Observation, with a recommendation."""


def join_names(names: list[str], kind: str = "other channels") -> str:
    """Join up to five names; of longer lists only some, with the number of others."""
    if len(names) > NAMES_MAX + 2:
        return f"{', '.join(names[:NAMES_MAX])} and {len(names) - NAMES_MAX} {kind}"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
