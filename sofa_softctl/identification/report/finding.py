"""One sentence that people should read, and lists of names in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NAMED = 3
"""Names of a long list that are told."""

Level = Literal["good", "look", "bad"]
"""As it should be; to be looked at; not to be trusted."""


@dataclass(frozen=True)
class Finding:
    """One sentence that people should read."""

    level: Level
    """As it should be; to be looked at; not to be trusted."""
    text: str
    """What was found, and what to do."""


def listed(names: list[str], kind: str = "other channels") -> str:
    """Up to five names, and how many more."""
    if len(names) > NAMED + 2:
        return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} {kind}"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
