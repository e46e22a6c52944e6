"""State machine of a robot: commands and states, without devices or clocks.

    READY -> SOFT_START -> STREAMING <-> WAITING             targets come
      any of these -> HOLDING -> RETURNING -> RESTED         a fault
      any of these -> RETURNING -> RESTED                    the end
      all of these -> STOPPED                                a device failed, emergency stop

A fault is latched: the robot brakes within its limits, is held for a time, goes to its rest pose
and stays there; targets are not looked at any more. With `stay` it is held and then stopped where
it is: when nobody holds the dead-man switch, nothing moves on its own. What happens before the
first command stops the devices without any motion, since where the robot is may not be known.

Where one device fails, all are stopped at once, where they are: a robot whose actuators no longer
act together is not moved on. The same holds after a pause of this process or sleep of the computer,
since somebody may have come near meanwhile.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.bridge.config.robot import RobotConfig
from sofa_softctl.bridge.course.checks import TargetCheck
from sofa_softctl.bridge.course.limiter import Limiter
from sofa_softctl.bridge.course.move import Move
from sofa_softctl.bridge.course.playout import REAL_TIME_FACTOR_MIN, TargetBuffer
from sofa_softctl.bridge.course.state import StreamState
from sofa_softctl.errors import DeviceError, DeviceFailedError

PLAYING = (StreamState.SOFT_START, StreamState.STREAMING, StreamState.WAITING)
"""States in which targets are awaited and used."""
MOVING = (*PLAYING, StreamState.HOLDING, StreamState.RETURNING)
"""States in which commands are sent."""
FEEDBACK_WAIT_MAX = 0.3
"""Time in which devices that measure positions must report them [s]."""
RANGE_EXCESS_MAX = 0.01
"""Distance out of range at which a motion may start, as a fraction of the range [-]:
the first command may differ this much from the position."""
TARGETS_MAX = 10_000
"""Number of targets that may wait; more come from a scene that ignores the robot's clock."""


class Supervisor:
    """The state machine of a robot.

    Args:
        robot: The robot's configuration.
        tolerance: Passed to `TargetCheck`.
    """

    def __init__(self, robot: RobotConfig, tolerance: np.ndarray) -> None:
        actuators = robot.actuators
        self.state = StreamState.READY
        self.reason = ""
        """Reason for a fault or stop, or ""."""
        self.error: type[DeviceError] = DeviceFailedError
        """Class of the error that the scene raises."""
        self.dt = 1.0 / robot.stream.rate
        self.command = np.full(len(actuators), np.nan)
        """The last command; NaN before the first [unit], shape (n,)."""
        self.target = np.full(len(actuators), np.nan)
        """Target at the robot's clock; NaN before the start [unit], shape (n,)."""
        self.assumed: list[str] = []
        """Actuators whose position was not measured when the motion began."""
        self.buffer = TargetBuffer(robot.stream.interpolation, robot.stream.lookahead)
        self._check = TargetCheck(actuators, tolerance)
        self._robot = robot
        self._rate = np.array([actuator.rate for actuator in actuators])
        self._acceleration = np.array([actuator.acceleration for actuator in actuators])
        self._rest = np.array([actuator.rest for actuator in actuators])
        self._limiter = self._limiter_at(self._rest)
        self._move: Move | None = None
        self._hold = 0.0
        self._stay = False
        self._target_came = self._last_message = 0.0
        self.first_feedback_timeout = FEEDBACK_WAIT_MAX
        self._since = np.inf

    def receive(self, now: float, sent: float, time: float, target: np.ndarray) -> None:
        """Queue or refuse a target of the scene; `sent` and `now`: monotonic clock [s]."""
        self.reset_scene_timeout(now)
        if self.state is not StreamState.READY and self.state not in PLAYING:
            return
        if reason := self._check.refusal(time, target):
            self.fault(reason)
        elif len(self.buffer) >= TARGETS_MAX:
            self.fault(
                f"{TARGETS_MAX} targets wait to be played: the scene is ahead of the robot's clock"
            )
        else:
            self._target_came = now
            self.buffer.add(time, target, sent)

    def reset_scene_timeout(self, now: float) -> None:
        """Reset the timeout of the scene."""
        self._last_message = now

    def fault(self, reason: str, *, stay: bool = False) -> None:
        """Hold the robot, then bring it to rest, or with `stay` stop it."""
        if self.state is StreamState.READY:
            self.stop(reason)
        elif self.state in PLAYING or (self.state in MOVING and stay and not self._stay):
            self._stay = stay
            self.note(reason)
            self.state, self._move = StreamState.HOLDING, None
            self._hold = self._robot.safety.hold
        elif self.state in MOVING and not self.reason:  # it returns already
            self.note(reason)

    def stop(self, reason: str, error: type[DeviceError] = DeviceFailedError) -> None:
        """Send no more commands; the devices must be stopped immediately."""
        if self.state not in (StreamState.RESTED, StreamState.STOPPED):
            if not self.reason:
                self.error = error
            self.note(reason)
            self.state = StreamState.STOPPED

    def finish(self, reason: str = "", rest: np.ndarray | None = None) -> None:
        """Start to bring the robot to rest, or stop if the state does not permit it.

        Args:
            reason: Reason, unless this is the usual end.
            rest: Another rest pose than the configured one [unit], shape (n,).
        """
        if self.state in PLAYING:
            self.note(reason)
            self._rest = self._rest if rest is None else self._in_range(rest)
            self.state, self._move = StreamState.RETURNING, None
        elif self.state is StreamState.HOLDING:
            self._hold = 0.0
        elif self.state is StreamState.READY:
            self.note(reason)
            self.state = StreamState.STOPPED

    def step(self, now: float, measured: np.ndarray) -> np.ndarray | None:
        """Return the command of this period, or None if nothing must be sent.

        Args:
            now: This computer's monotonic clock [s].
            measured: Measured positions, NaN if not measured [unit], shape (n,).
        """
        if self.state is StreamState.READY:
            self._since = min(self._since, now)
            has_start = (
                np.isfinite(measured).all() or now - self._since >= self.first_feedback_timeout
            )
            if has_start and self.buffer.ready:
                self._start(now, measured)
        if self.state in PLAYING:
            self._find_silence(now)
        if self.state in (StreamState.STREAMING, StreamState.WAITING):
            self._play()
        self._change_state()
        if self.state not in MOVING:
            return None
        self.command = self._next_command()
        return self.command

    def note(self, reason: str) -> None:
        """Add to the reason."""
        parts = (self.reason, reason.removesuffix("."))
        self.reason = "; then ".join(part for part in parts if part)

    def _limiter_at(self, start: np.ndarray) -> Limiter:
        low, high = self._check.low, self._check.high
        return Limiter(low, high, self._rate, self._acceleration, self.dt, start)

    def _in_range(self, target: np.ndarray) -> np.ndarray:
        """Clip a target, which `TargetCheck` lets exceed the range slightly."""
        clipped: np.ndarray = np.clip(target, self._check.low, self._check.high)
        return clipped

    @property
    def _has_held(self) -> bool:
        return self._hold < -0.5 * self.dt  # but for rounding

    @property
    def _has_moved(self) -> bool:
        return self._move is not None and self._move.is_done

    def _start(self, now: float, measured: np.ndarray) -> None:
        """Start the motion from measured positions, or from the rest pose if there are none."""
        speed = self.buffer.speed_of_scene()
        if self._robot.stream.slow_scene == "refuse" and speed < REAL_TIME_FACTOR_MIN:
            self.stop(
                f'the scene runs at {speed:.0%} of real time, and slow_scene = "refuse": nothing '
                'was moved. Make its steps cheaper or longer, or choose slow_scene = "wait"'
            )
            return
        is_measured = np.isfinite(measured)
        start = np.where(is_measured, measured, self._rest)
        actuators = self._robot.actuators
        self.assumed = [
            a.name for a, is_known in zip(actuators, is_measured, strict=True) if not is_known
        ]
        for index, a in enumerate(actuators):
            slack = RANGE_EXCESS_MAX * (a.position_max - a.position_min)
            if not a.position_min - slack <= start[index] <= a.position_max + slack:
                self.stop(
                    f"'{a.name}' is measured at {start[index]:.6g} {a.unit}, outside its range "
                    f"from {a.position_min:g} to {a.position_max:g}: nothing was moved. Check "
                    "its map and zero, or bring it into its range"
                )
                return
        self._limiter = self._limiter_at(start)
        self.target = self._in_range(self.buffer.target())
        duration_min = max((actuator.soft_start for actuator in self._robot.actuators), default=0.0)
        self._move = Move(
            self._limiter.position, self.target, self._rate, self._acceleration, duration_min
        )
        self.state, self._last_message = StreamState.SOFT_START, now

    def _find_silence(self, now: float) -> None:
        timeout = self._robot.safety.command_timeout
        if now - self._last_message > timeout:
            self.fault(
                f"nothing came from the scene for {timeout:g} s (command_timeout): it hangs, was "
                "paused, or its steps take longer"
            )
        elif self.state is StreamState.SOFT_START:
            self._target_came = now  # none is owed yet
        elif self.state is StreamState.WAITING and now - self._target_came > timeout:
            self.fault(f"no target came from the scene for {timeout:g} s (command_timeout)")

    def _play(self) -> None:
        buffer = self.buffer
        buffer.advance(self.dt)
        self.target = self._in_range(buffer.target())
        self.state = StreamState.WAITING if buffer.waiting else StreamState.STREAMING
        allowed = max(buffer.step, self.dt)
        if self._robot.stream.slow_scene == "refuse" and buffer.late > allowed + 1e-9:
            self.fault(
                f"the scene fell behind real time by more than a step, {allowed:g} s, and "
                'slow_scene = "refuse"'
            )

    def _change_state(self) -> None:
        """Change the state if the last command completed it."""
        if self.state is StreamState.SOFT_START and self._has_moved:
            self.state, self._move = StreamState.STREAMING, None
        elif self.state is StreamState.HOLDING:
            self._hold -= self.dt
            if self._has_held and self._limiter.at_rest:
                self.state = StreamState.STOPPED if self._stay else StreamState.RETURNING
        elif self.state is StreamState.RETURNING and self._has_moved:
            self._hold -= self.dt
            if self._has_held and self._limiter.at_rest:
                self.state = StreamState.RESTED

    def _next_command(self) -> np.ndarray:
        limiter = self._limiter
        if np.isnan(self.command).any():  # the first one is where the robot is
            return limiter.brake()
        if self.state is StreamState.RETURNING and self._move is None and limiter.at_rest:
            self._move = Move(limiter.position, self._rest, self._rate, self._acceleration)
            self._hold = self._robot.safety.hold  # at the end, so that what lags arrives
        if self._move is not None:
            return limiter.follow(self._move.advance(self.dt))
        if self.state in (StreamState.STREAMING, StreamState.WAITING):
            return limiter.follow(self.target)
        return limiter.brake()
