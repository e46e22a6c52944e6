"""What the motors answer, motor by motor, and what it means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from sofa_softctl.bridge.device import Feedback
from sofa_softctl.bridge.devices.dynamixel import registers as table
from sofa_softctl.bridge.devices.dynamixel.bus import ALERT, Answer
from sofa_softctl.bridge.devices.dynamixel.registers import Motion, Register, State
from sofa_softctl.errors import DeviceFailedError, DeviceTimeoutError

_REFUSALS = 3
"""Commands in a row that a motor has not taken; one may be lost by noise."""
_Value = TypeVar("_Value")


class Reading:
    """Answers of the motors, one question at a time.

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
        self._asked: Register | None = None
        self._motion: dict[int, Motion] = {}
        self._state: dict[int, State] = {}
        self._unanswered: dict[int, float] = {}  # since when [s]
        self._refused: dict[int, int] = {}
        self._command: tuple[int, dict[int, int]] | None = None
        self._compared: tuple[int, dict[int, int]] | None = None
        self._positions: dict[int, int] = {}
        self._position_time = -float("inf")
        self._clock = 0.0
        self._tick: int | None = None
        self._feedback: Feedback | None = None
        self._stopped = ""

    def command(self, sequence: int, goals: dict[int, int]) -> None:
        """A command was sent; the next answers are compared with it."""
        self._command = (sequence, goals)

    def ask(self, now: float) -> Register:
        """What to ask all motors for."""
        self._asked = table.STATE if self.wants_state else table.MOTION
        self.wants_state = False
        self._motion, self._state, self._compared = {}, {}, self._command
        for motor in self.names:
            self._unanswered.setdefault(motor, now)
        return self._asked

    def answer(self, answer: Answer, now: float) -> None:
        """Take an answer in.

        Raises:
            DeviceFailedError: A motor has shut down, lost its torque, or takes no positions.
        """
        motor = answer.id
        if self._asked is None or motor not in self.names or len(answer.data) != self._asked.size:
            return
        self._unanswered.pop(motor, None)
        if self._asked is table.STATE:
            self._state[motor] = table.state(answer.data)
            self._check_state(motor, self._state[motor])
            return
        if answer.error & ALERT:
            self.wants_state = True
        self._motion[motor] = table.motion(answer.data)
        if len(self._motion) == len(self.names):
            self._complete(now)

    def take(self) -> Feedback | None:
        """The newest feedback, once."""
        found, self._feedback = self._feedback, None
        return found

    def newest(self, since: float) -> dict[int, int] | None:
        """Positions of all motors, if they are not older than `since` [s]."""
        return self._positions if self._position_time >= since else None

    def check_silence(self, now: float, longest: float) -> None:
        """Whether every motor has answered.

        Raises:
            DeviceTimeoutError: Some have not for `longest` [s].
        """
        silent = [motor for motor, since in self._unanswered.items() if now - since > longest]
        if silent:
            which = ", ".join(f"{motor} '{self.names[motor]}'" for motor in silent)
            raise DeviceTimeoutError(
                f"{self.where}: no answer from motor {which} for {longest:g} s: has it lost power, "
                "or is a cable loose?"
            )

    def _complete(self, now: float) -> None:
        """Every motor has said how it moves."""
        self._positions = {motor: found.position for motor, found in self._ordered(self._motion)}
        self._position_time = now
        self._feedback = Feedback(
            time=now,
            positions={motor: float(position) for motor, position in self._positions.items()},
            efforts={
                motor: found.current * (self.current_units[motor] or 1.0)
                for motor, found in self._ordered(self._motion)
            },
            signals={"velocity": self._velocities()},
            acknowledged=self._acknowledged(),
            device_time=self._device_time(),
            stopped=self._stopped,
        )

    def _acknowledged(self) -> int | None:
        """The command that all motors have taken, if they have."""
        if self._compared is None:
            return None
        sequence, goals = self._compared
        for motor, found in self._motion.items():
            taken = found.goal == goals[motor]
            self._refused[motor] = 0 if taken else self._refused.get(motor, 0) + 1
            if self._refused[motor] >= _REFUSALS:
                self.wants_state = True
        return sequence if not any(self._refused.values()) else None

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
        elif self._refused.get(motor, 0) >= _REFUSALS and self._compared is not None:
            raise DeviceFailedError(
                f"{what} does not take the position {self._compared[1][motor]}: another program "
                "on the line, or limits in the motor that are narrower?"
            )

    def _velocities(self) -> np.ndarray:
        found = [motion.velocity for _, motion in self._ordered(self._motion)]
        return np.array(found, float) * table.VELOCITY_UNIT

    def _device_time(self) -> float:
        """Clock of the first motor, which counts milliseconds modulo 2^15 [s]."""
        tick = self._ordered(self._motion)[0][1].tick
        if self._tick is not None:
            self._clock += ((tick - self._tick) % 2**15) * 1e-3
        self._tick = tick
        return self._clock

    def _ordered(self, found: Mapping[int, _Value]) -> list[tuple[int, _Value]]:
        """In the order of the channels."""
        return [(motor, found[motor]) for motor in self.names]
