"""Status of a solve, verdict of a run or plan, and exit status of a command."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, IntEnum


class Status(Enum):
    """Status of every solver of this package, from best to worst.

    The value is a general sentence; compare by member. The result's `message` says what it means
    for the solver, and what to do.
    """

    SOLVED = "Solved to the requested accuracy."
    CLOSEST_FEASIBLE = (
        "What is asked for and the limits contradict each other: this answer violates them the "
        "least. Ask for less, or widen the limits that are named."
    )
    FALLBACK = "Another method's answer took the place of the one that was asked for."
    NOT_CONVERGED = "The solver stopped before the optimum: this is its best answer so far."
    REJECTED = (
        "The answer did not pass its acceptance test on the full model: `message` says why. Do not "
        "execute it."
    )
    INFEASIBLE = "No answer was found that obeys all limits. Do not execute this one."
    HELD = "No trustworthy answer was found: the previous command is held. `message` says why."

    @property
    def ok(self) -> bool:
        """True if every limit is respected and the optimum was reached."""
        return self is Status.SOLVED

    @property
    def executable(self) -> bool:
        """True if a motion may be executed: it obeys all limits, at the goal or not."""
        return self in (Status.SOLVED, Status.CLOSEST_FEASIBLE)

    @property
    def verdict(self) -> Verdict:
        """Verdict on a motion that consists of this one solve."""
        return _VERDICTS[self]

    @staticmethod
    def worst(statuses: Iterable[Status]) -> Status:
        """Return the worst status, or SOLVED if there is none."""
        return max(statuses, key=list(Status).index, default=Status.SOLVED)


class Verdict(Enum):
    """Verdict on the goals of a run or a plan, from best to worst; the value is a sentence."""

    REACHED = "The goals are reached."
    CLOSEST = "The goals are out of reach: this comes as near to them as the limits allow."
    FALLBACK = "A simpler motion took the place of the one that was asked for."
    NOT_REACHED = "The goals are not reached."
    HELD = "The robot is held where it was."

    @property
    def ok(self) -> bool:
        """True if the goals are reached."""
        return self is Verdict.REACHED

    @staticmethod
    def worst(verdicts: Iterable[Verdict]) -> Verdict | None:
        """Return the worst verdict, or None if there is none."""
        return max(verdicts, key=list(Verdict).index, default=None)

    @property
    def exit_status(self) -> ExitStatus:
        """Exit status of a command with this verdict."""
        return ExitStatus.DONE if self.ok else ExitStatus.NOT_REACHED


class ExitStatus(IntEnum):
    """Exit status of a command."""

    DONE = 0
    """The command succeeded."""
    FAILED = 1
    """Bad input, a scene that failed, or a check that did not pass; the message says which."""
    USAGE = 2
    """The command line is wrong: an unknown command or option, or an invalid value."""
    NOT_REACHED = 3
    """The goals were not reached, or the motion must not be executed; no error occurred."""
    INTERRUPTED = 130
    """Stopped by Ctrl-C."""
    TERMINATED = 143
    """Stopped by SIGTERM: `kill`, a service that is stopped, a shutdown."""
    HUNG_UP = 129
    """Stopped by SIGHUP: its terminal was closed."""

    @staticmethod
    def of_stop(by: str) -> ExitStatus:
        """Return the exit status of a command that 'Ctrl-C', 'SIGTERM' or 'SIGHUP' stopped."""
        return {"SIGTERM": ExitStatus.TERMINATED, "SIGHUP": ExitStatus.HUNG_UP}.get(
            by, ExitStatus.INTERRUPTED
        )


_VERDICTS = {
    Status.SOLVED: Verdict.REACHED,
    Status.CLOSEST_FEASIBLE: Verdict.CLOSEST,
    Status.FALLBACK: Verdict.FALLBACK,
    Status.NOT_CONVERGED: Verdict.NOT_REACHED,
    Status.REJECTED: Verdict.NOT_REACHED,
    Status.INFEASIBLE: Verdict.NOT_REACHED,
    Status.HELD: Verdict.HELD,
}
