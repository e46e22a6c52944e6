"""What the motors answer, motor by motor, and what it means."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np

from sofa_softctl.bridge.device import Feedback, explain_silence
from sofa_softctl.bridge.devices.dynamixel import registers as table
from sofa_softctl.bridge.devices.dynamixel.bus import ALERT, Answer
from sofa_softctl.bridge.devices.dynamixel.registers import Motion, Register, State
from sofa_softctl.errors import DeviceFailedError, DeviceTimeoutError

_REFUSALS = 3
"""Answers in a row without a goal that was commanded; one command may be lost by noise."""
_REMEMBERED = 16
"""Commands that an answer is compared with: adapters hand answers on late."""


class Reading:
    """Answers of the motors, and what was asked of them.

    Args:
        where: Device and port, for messages.
        names: Name of each motor by its id.
        current_units: Unit of the present current of each [mA]; 0: it gives its load.
    """

    def __init__(
        self, where: str, names: Mapping[int, str], current_units: Mapping[int, float]
    ) -> None:
        self.where, self.names, self.current_units = where, names, current_units
        self.wants_state = False
        """Whether the next question is for the state."""
        self._motion: dict[int, Motion] = {}
        self._missing = set(names)  # motors that have not answered since the last feedback
        self._unanswered: dict[int, float] = {}  # since when [s]
        self._commands: deque[tuple[int, dict[int, int]]] = deque(maxlen=_REMEMBERED)
        self._taken = dict.fromkeys(names, -1)
        self._refused = dict.fromkeys(names, 0)
        self._position_time = -float("inf")
        self._clock = 0.0
        self._tick: int | None = None
        self._feedback: Feedback | None = None
        self._stopped = ""

    def command(self, sequence: int, goals: dict[int, int]) -> None:
        """A command was sent; answers are compared with it."""
        self._commands.append((sequence, goals))

    def ask(self, now: float) -> Register:
        """What to ask all motors for."""
        register = table.STATE if self.wants_state else table.MOTION
        self.wants_state = False
        for motor in self.names:
            self._unanswered.setdefault(motor, now)
        return register

    def answer(self, answer: Answer, now: float) -> None:
        """Take an answer in, to this question or an earlier one.

        Raises:
            DeviceFailedError: A motor has shut down, lost its torque, or takes no positions.
        """
        motor = answer.id
        if motor not in self.names:
            return
        if len(answer.data) == table.STATE.size:
            self._unanswered.pop(motor, None)
            self._check_state(motor, table.state(answer.data))
        elif len(answer.data) == table.MOTION.size:
            self._unanswered.pop(motor, None)
            self.wants_state |= bool(answer.error & ALERT)
            self._motion[motor] = table.motion(answer.data)
            self._compare(motor, self._motion[motor].goal)
            self._missing.discard(motor)
            if not self._missing:
                self._complete(now)

    def take(self) -> Feedback | None:
        """The newest feedback, once."""
        found, self._feedback = self._feedback, None
        return found

    def newest(self, since: float) -> dict[int, int] | None:
        """Positions of all motors, if they are not older than `since` [s]."""
        if self._position_time < since:
            return None
        return {motor: self._motion[motor].position for motor in self.names}

    def check_silence(self, now: float, longest: float, dropped: Mapping[str, int]) -> None:
        """Whether every motor has answered.

        Args:
            now: The time [s].
            longest: Longest silence [s].
            dropped: See `Device.dropped`.

        Raises:
            DeviceTimeoutError: Some have not for `longest` [s].
        """
        silent = [motor for motor, since in self._unanswered.items() if now - since > longest]
        if silent:
            which = ", ".join(f"{motor} '{self.names[motor]}'" for motor in silent)
            raise DeviceTimeoutError(
                f"{self.where}: no answer from motor {which} for {longest:g} s. "
                f"{explain_silence(dropped, 'Has it lost power, or is a cable loose?')}"
            )

    def _complete(self, now: float) -> None:
        """Every motor has said how it moves, since it was last complete."""
        self._missing = set(self.names)
        self._position_time = now
        found = [self._motion[motor] for motor in self.names]
        units = [self.current_units[motor] or 1.0 for motor in self.names]
        taken = min(self._taken.values())
        self._feedback = Feedback(
            time=now,
            positions={m: float(each.position) for m, each in zip(self.names, found, strict=True)},
            efforts={
                motor: each.current * unit
                for motor, each, unit in zip(self.names, found, units, strict=True)
            },
            signals={"velocity": table.VELOCITY_UNIT * np.array([each.velocity for each in found])},
            acknowledged=taken if taken >= 0 else None,
            device_time=self._device_time(found[0].tick),
            stopped=self._stopped,
        )

    def _compare(self, motor: int, goal: int) -> None:
        """Which command a motor has taken: the oldest with that goal that it had not yet.

        The oldest, as one answer comes for each command, in their order, however late.
        """
        for sequence, goals in self._commands:
            if sequence > self._taken[motor] and goals[motor] == goal:
                self._taken[motor], self._refused[motor] = sequence, 0
                return
        if self._commands and self._taken[motor] < self._commands[-1][0]:
            self._refused[motor] += 1
            self.wants_state |= self._refused[motor] >= _REFUSALS

    def _check_state(self, motor: int, state: State) -> None:
        what = f"{self.where}: motor {motor} '{self.names[motor]}'"
        if state.error:
            raise DeviceFailedError(
                f"{what} has shut down: {table.error_text(state.error)}. Remove the cause, then "
                "switch its power off and on."
            )
        if state.watchdog == table.WATCHDOG_ERROR:
            who = f"motor {motor} '{self.names[motor]}'"
            self._stopped = self._stopped or f"{who} was stopped by its Bus Watchdog"
        elif not state.torque:
            raise DeviceFailedError(f"{what} has no torque: did it lose power for a moment?")
        elif self._refused[motor] >= _REFUSALS:
            raise DeviceFailedError(
                f"{what} does not take the position {self._commands[-1][1][motor]}: another "
                "program on the line, or limits in the motor that are narrower?"
            )

    def _device_time(self, tick: int) -> float:
        """Clock of the first motor, which counts milliseconds modulo 2^15 [s]."""
        if self._tick is not None:
            self._clock += ((tick - self._tick) % 2**15) * 1e-3
        self._tick = tick
        return self._clock
