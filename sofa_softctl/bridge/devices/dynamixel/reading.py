"""Answers of the motors, and the feedback from them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np

from sofa_softctl.bridge.device import Feedback, explain_silence
from sofa_softctl.bridge.devices.dynamixel import registers as table
from sofa_softctl.bridge.devices.dynamixel.bus import ALERT, Answer
from sofa_softctl.bridge.devices.dynamixel.registers import Motion, Register, State
from sofa_softctl.errors import DeviceFailedError, DeviceTimeoutError

_REFUSALS_MAX = 3
"""Number of successive answers without a commanded goal; noise may lose one command."""
_COMMANDS_MAX = 16
"""Number of commands compared with an answer: adapters forward answers late."""


class Reading:
    """Answers of the motors, and the commands sent to them.

    Args:
        label: Device and port, for messages.
        names: Name of each motor by its id.
        current_units: Unit of each motor's current [mA]; 0 if it gives its load.
    """

    def __init__(
        self, label: str, names: Mapping[int, str], current_units: Mapping[int, float]
    ) -> None:
        self.where, self.names, self.current_units = label, names, current_units
        self.wants_state = False
        """Whether the next question is for the state."""
        self._motion: dict[int, Motion] = {}
        self._missing = set(names)  # motors that have not answered since the last feedback
        self._unanswered: dict[int, float] = {}  # since when [s]
        self._commands: deque[tuple[int, dict[int, int]]] = deque(maxlen=_COMMANDS_MAX)
        self._taken = dict.fromkeys(names, -1)
        self._refused = dict.fromkeys(names, 0)
        self._position_time = -float("inf")
        self._clock = 0.0
        self._tick: int | None = None
        self._feedback: Feedback | None = None
        self._stopped = ""

    def command(self, sequence: int, goals: dict[int, int]) -> None:
        """Store a command that was sent, to compare answers with it."""
        self._commands.append((sequence, goals))

    def next_register(self, now: float) -> Register:
        """Return the register to ask all motors for."""
        register = table.STATE if self.wants_state else table.MOTION
        self.wants_state = False
        for motor in self.names:
            self._unanswered.setdefault(motor, now)
        return register

    def answer(self, answer: Answer, now: float) -> None:
        """Store an answer, to this question or an earlier one.

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

    def take_feedback(self) -> Feedback | None:
        """Return the newest feedback, once."""
        feedback, self._feedback = self._feedback, None
        return feedback

    def newest(self, since: float) -> dict[int, int] | None:
        """Return the positions of all motors, unless they are older than `since` [s]."""
        if self._position_time < since:
            return None
        return {motor: self._motion[motor].position for motor in self.names}

    def check_silence(self, now: float, longest: float, dropped: Mapping[str, int]) -> None:
        """Raise an error if a motor is silent.

        Args:
            now: The time [s].
            longest: Longest silence [s].
            dropped: See `Device.dropped`.

        Raises:
            DeviceTimeoutError: Motors have not answered for `longest` [s].
        """
        silent = [motor for motor, since in self._unanswered.items() if now - since > longest]
        if silent:
            which = ", ".join(f"{motor} '{self.names[motor]}'" for motor in silent)
            raise DeviceTimeoutError(
                f"{self.where}: no answer from motor {which} for {longest:g} s. "
                f"{explain_silence(dropped, 'Has it lost power, or is a cable loose?')}"
            )

    def _complete(self, now: float) -> None:
        """Make feedback, after answers of all motors."""
        self._missing = set(self.names)
        self._position_time = now
        motions = [self._motion[motor] for motor in self.names]
        units = [self.current_units[motor] or 1.0 for motor in self.names]
        taken = min(self._taken.values())
        self._feedback = Feedback(
            time=now,
            positions={
                m: float(motion.position) for m, motion in zip(self.names, motions, strict=True)
            },
            efforts={
                motor: motion.current * unit
                for motor, motion, unit in zip(self.names, motions, units, strict=True)
            },
            signals={
                "velocity": table.VELOCITY_UNIT * np.array([motion.velocity for motion in motions])
            },
            acknowledged=taken if taken >= 0 else None,
            device_time=self._device_time(motions[0].tick),
            stopped=self._stopped,
        )

    def _compare(self, motor: int, goal: int) -> None:
        """Find the command that a motor has accepted: the oldest new one with its goal.

        The oldest, as one answer comes for each command, in their order, however late.
        """
        for sequence, goals in self._commands:
            if sequence > self._taken[motor] and goals[motor] == goal:
                self._taken[motor], self._refused[motor] = sequence, 0
                return
        if self._commands and self._taken[motor] < self._commands[-1][0]:
            self._refused[motor] += 1
            self.wants_state |= self._refused[motor] >= _REFUSALS_MAX

    def _check_state(self, motor: int, state: State) -> None:
        label = f"{self.where}: motor {motor} '{self.names[motor]}'"
        if state.error:
            raise DeviceFailedError(
                f"{label} has shut down: {table.error_text(state.error)}. Remove the cause, then "
                "switch its power off and on."
            )
        if state.watchdog == table.WATCHDOG_ERROR:
            motor_name = f"motor {motor} '{self.names[motor]}'"
            self._stopped = self._stopped or f"{motor_name} was stopped by its Bus Watchdog"
        elif not state.torque:
            raise DeviceFailedError(f"{label} has no torque: did it lose power for a moment?")
        elif self._refused[motor] >= _REFUSALS_MAX:
            raise DeviceFailedError(
                f"{label} does not take the position {self._commands[-1][1][motor]}: another "
                "program on the line, or limits in the motor that are narrower?"
            )

    def _device_time(self, tick: int) -> float:
        """Return the clock of the first motor, which counts milliseconds modulo 2^15 [s]."""
        if self._tick is not None:
            self._clock += ((tick - self._tick) % 2**15) * 1e-3
        self._tick = tick
        return self._clock
