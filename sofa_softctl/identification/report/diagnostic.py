"""One diagnostic of an estimate, and lists of names in its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NAMED = 3
"""Names of a long list that are printed."""

Level = Literal["good", "look", "bad"]
"""No problem; check; do not trust the result."""


@dataclass(frozen=True)
class Diagnostic:
    """One sentence on the quality of an estimate."""

    level: Level
    """Severity."""
    text: str
    """The observation, and what to do."""


def listed(names: list[str], kind: str = "other channels") -> str:
    """Up to five names, and the number of others."""
    if len(names) > NAMED + 2:
        return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} {kind}"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
