"""How a solve ended: sentences that a user can act on, one vocabulary for all solvers."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How a solve ended. The value is a sentence for people; compare by member."""

    SOLVED = "Solved to the requested accuracy."
    CLOSEST_FEASIBLE = (
        "The limits contradict each other: this is the answer that exceeds them the least. "
        "Widen the limits that are named in `relaxed`."
    )
    HELD = (
        "No trustworthy answer was found: the previous command is held. "
        "See `message` for what the solver reported."
    )

    @property
    def ok(self) -> bool:
        """Whether every limit is respected and the optimum was reached."""
        return self is Status.SOLVED
