"""Options of `reset`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def goal_of(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Entries of the goal that options set, `{"goal": {...}}`; none: an empty dictionary.

    Raises:
        ValueError: There are other options, or the goal is no dictionary.
    """
    given = dict(options or {})
    goal = given.pop("goal", None) or {}
    if given or not isinstance(goal, Mapping):
        raise ValueError(
            f'reset takes options={{"goal": {{name: numbers}}}} alone. Got: {dict(options or {})!r}'
        )
    return dict(goal)
