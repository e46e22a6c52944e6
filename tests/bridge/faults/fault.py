"""What a fault is, what must come of it, and the check of that."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.bridge.faults import boards, robot
from tests.bridge.faults.programs import Program, Recorder, Talker
from tests.bridge.faults.wire_record import assert_safe, sessions

BRAKE = robot.SPEED / robot.ACCELERATION
"""Time in which it brakes [s]."""
LATE = boards.WATCHDOG + 2.0 * robot.PERIOD
"""Until the next period at the latest, as a device process that is late is stopped by the watchdog
of the board; and until the next pulse [s]."""
SLACK = 2.0
"""For a busy machine, where its scheduler is involved [s]."""


@dataclass(frozen=True)
class Bound:
    """A bound of the time to standstill."""

    seconds: float
    """[s]"""
    words: str
    """Of what it consists."""


WATCHDOG = Bound(boards.WATCHDOG + boards.TICK, "watchdog of the board, after its last command")
AT_ONCE = Bound(LATE, "next period, or watchdog")
TO_REST = Bound(LATE + BRAKE + robot.HOLD + robot.RETURN, "hold, brake, return")
TO_END = Bound(LATE + BRAKE + robot.RETURN, "a step, brake, return")
NO_ANSWER = Bound(robot.FEEDBACK_TIMEOUT + LATE, "`feedback_timeout`, next period")
NO_SCENE = Bound(robot.COMMAND_TIMEOUT + TO_REST.seconds, "`command_timeout`, hold, brake, return")


@dataclass(frozen=True)
class Fault:
    """A fault and what must come of it."""

    name: str
    """Row of the page."""
    inject: Callable[[Any], None] | None
    """What is done to the `Trial` while the robot moves; None: the scene or the board does it."""
    sees: str
    """What the user reads; '...' stands for what varies. Empty: nothing."""
    does: str
    """What the robot does."""
    end: str
    """'rested', 'stopped' where it was, 'done': the run went on, 'refused': nothing moved."""
    bound: Bound | None = None
    """Of the time to standstill; None: none."""
    status: int | tuple[int, ...] = 1
    """Exit status, or those that may be; negative: a signal."""
    board: str = "board"
    """'board' (real if it can be built), 'real', 'emulated', 'text', 'udp'; or a recorder's."""
    relay: bool = False
    """Whether a line that may be bad is before the board."""
    board_options: dict[str, Any] = field(default_factory=dict)
    """Of the emulated board."""
    trial: dict[str, Any] = field(default_factory=dict)
    """Options of the `Trial`."""
    after: Callable[[Any], None] | None = None
    """What is done and checked when the run has ended and was checked."""

    @property
    def whole_numbers(self):
        """Whether its device takes whole numbers."""
        return self.board in ("board", "real", "emulated", "text")

    @property
    def where(self):
        """On what it is shown, where the firmware can be built."""
        made = {"udp": Program, "text": Talker, "emulated": boards.EmulatedBoard}
        real = boards.RealBoard if self.board in ("board", "real") else Recorder
        return made.get(self.board, real).where

    @property
    def slack(self):
        """What a busy machine may add to the bound; none where the processor's time counts [s]."""
        return 0.0 if self.bound is WATCHDOG and self.where == boards.RealBoard.where else SLACK


def check_wire(fault, trial):
    """Whatever came of a fault: no command, and no output, was ever beyond a limit."""
    board = trial.board
    rounding = 1.0 if fault.whole_numbers else 0.0
    if fault.relay:
        assert_safe(board.sent(), rounding=rounding)
    assert_safe(board.commands(), rounding=rounding)
    board.assert_safe()


def check_end(fault, trial, status):
    """That the robot, its user and the recording got what was promised.

    Returns:
        The time to standstill [s]; None: no such time belongs to the fault.
    """
    board = trial.board
    allowed = fault.status if isinstance(fault.status, tuple) else (fault.status,)
    assert status in allowed, (status, trial.host.words)
    assert_said(fault.sees, trial.words)
    assert "Traceback" not in trial.host.words or fault.trial.get("scene") == "raises"
    sent = board.sent() if fault.relay else board.commands()
    if fault.end == "refused":
        assert not sent
        return None
    first = sessions(sent)[0]
    at_rest = all(value == robot.ZERO for value in first[-1].values.values())
    assert at_rest == (fault.end in ("rested", "done")), first[-1]
    assert_recorded(trial.record(), first, 1.0 if fault.whole_numbers else 0.0)
    if fault.bound is None:
        return None
    if fault.bound is WATCHDOG and np.isfinite(board.stopped_by_itself()):
        return board.stopped_by_itself()
    return max(board.still() - getattr(board, "moment", trial.moment), 0.0)


def assert_said(expected, words):
    """The parts of a sentence stand in the words, in their order."""
    words, at = " ".join(words.split()), 0
    for part in expected.split("..."):
        found = words.find(part.strip(), at)
        assert found >= 0, f"{part!r} is not in: {words}"
        at = found + len(part.strip())


def assert_recorded(record, sent, rounding):
    """The recording has commands, and each is what was on the wire."""
    stream = record.streams["bridge.robot.command"].values
    rows = stream[np.isfinite(stream).all(axis=1)]
    assert len(rows) > 5, "too little was recorded"
    both = [one for one in sent if one.sequence < len(rows)]
    wire = np.array([list(one.values.values()) for one in both])
    recorded = robot.ZERO + robot.SLOPE * rows[[one.sequence for one in both]]
    assert np.abs(wire - recorded).max() <= 0.5 * rounding + 1e-5
