"""One thing that `softctl doctor` looked at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    subject: str
    """What."""
    good: bool
    """Whether it is as it should be; what is optional and absent counts as good."""
    text: str
    """What was found."""
    advice: str = ""
    """What to do about it."""
