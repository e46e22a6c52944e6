"""What is sent in each period, and in which state: decided here, without devices or clocks.

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
from sofa_softctl.bridge.course.playout import REAL_TIME, Playout
from sofa_softctl.bridge.course.state import StreamState
from sofa_softctl.errors import DeviceError, DeviceFailedError

PLAYING = (StreamState.SOFT_START, StreamState.STREAMING, StreamState.WAITING)
"""States in which targets are awaited and used."""
MOVING = (*PLAYING, StreamState.HOLDING, StreamState.RETURNING)
"""States in which commands are sent."""
SAYS_WITHIN = 0.3
"""Time in which devices that measure positions have said where the robot is [s]."""
OUTSIDE = 0.01
"""How far outside its range a robot may be measured to be before it moves, as a share of the range:
so far the first command may be from where the robot is."""
QUEUE = 10_000
"""Targets that may wait; more come from a scene that does not keep to the robot's clock."""


class Supervisor:
    """The state machine of a robot.

    Args:
        robot: The robot's configuration.
        tolerance: See `TargetCheck`.
    """

    def __init__(self, robot: RobotConfig, tolerance: np.ndarray) -> None:
        actuators = robot.actuators
        self.state = StreamState.READY
        self.reason = ""
        """Why it left its usual course; empty: it did not."""
        self.error: type[DeviceError] = DeviceFailedError
        """Class of the error that the scene is to see."""
        self.dt = 1.0 / robot.stream.rate
        self.command = np.full(len(actuators), np.nan)
        """The last command; NaN before the first [unit], shape (n,)."""
        self.target = np.full(len(actuators), np.nan)
        """What the scene asks for at the robot's clock; NaN before the start [unit], shape (n,)."""
        self.assumed: list[str] = []
        """Actuators that did not say where they were when the motion began."""
        self.playout = Playout(robot.stream.interpolation, robot.stream.lookahead)
        self._check = TargetCheck(actuators, tolerance)
        self._robot = robot
        self._rate = np.array([actuator.rate for actuator in actuators])
        self._acceleration = np.array([actuator.acceleration for actuator in actuators])
        self._rest = np.array([actuator.rest for actuator in actuators])
        self._limiter = self._limiter_at(self._rest)
        self._move: Move | None = None
        self._hold = 0.0
        self._stay = False
        self._target_came = self._heard = 0.0
        self.says_within = SAYS_WITHIN
        self._since = np.inf

    def receive(self, now: float, sent: float, time: float, target: np.ndarray) -> None:
        """Take a target of the scene in, or refuse it; `sent` and `now`: monotonic clock [s]."""
        self.hear(now)
        if self.state is not StreamState.READY and self.state not in PLAYING:
            return
        if why := self._check.refusal(time, target):
            self.fault(why)
        elif len(self.playout) >= QUEUE:
            self.fault(
                f"{QUEUE} targets wait to be played: the scene runs ahead of the robot's clock"
            )
        else:
            self._target_came = now
            self.playout.add(time, target, sent)

    def hear(self, now: float) -> None:
        """The scene gave a sign of life."""
        self._heard = now

    def fault(self, reason: str, *, stay: bool = False) -> None:
        """Hold the robot, then bring it to rest, or with `stay` stop it where it is."""
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
        """Send nothing any more; the devices are to be stopped at once."""
        if self.state not in (StreamState.RESTED, StreamState.STOPPED):
            if not self.reason:
                self.error = error
            self.note(reason)
            self.state = StreamState.STOPPED

    def finish(self, reason: str = "", rest: np.ndarray | None = None) -> None:
        """Bring the robot to rest without waiting, or stop where the state does not permit it.

        Args:
            reason: Why, if that is not the usual end.
            rest: Another rest pose than that of the configuration [unit], shape (n,).
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
        """The command of this period; None: nothing is to be sent.

        Args:
            now: This computer's monotonic clock [s].
            measured: Measured positions, NaN where there is none [unit], shape (n,).
        """
        if self.state is StreamState.READY:
            self._since = min(self._since, now)
            known = np.isfinite(measured).all() or now - self._since >= self.says_within
            if known and self.playout.ready:
                self._start(now, measured)
        if self.state in PLAYING:
            self._find_silence(now)
        if self.state in (StreamState.STREAMING, StreamState.WAITING):
            self._play()
        self._arrive()
        if self.state not in MOVING:
            return None
        self.command = self._commanded()
        return self.command

    def note(self, reason: str) -> None:
        """Add to the reason."""
        parts = (self.reason, reason.removesuffix("."))
        self.reason = "; then ".join(part for part in parts if part)

    def _limiter_at(self, start: np.ndarray) -> Limiter:
        low, high = self._check.low, self._check.high
        return Limiter(low, high, self._rate, self._acceleration, self.dt, start)

    def _in_range(self, target: np.ndarray) -> np.ndarray:
        """Without what `TargetCheck` tolerates."""
        found: np.ndarray = np.clip(target, self._check.low, self._check.high)
        return found

    @property
    def _held(self) -> bool:
        return self._hold < -0.5 * self.dt  # but for rounding

    @property
    def _moved(self) -> bool:
        return self._move is not None and self._move.done

    def _start(self, now: float, measured: np.ndarray) -> None:
        """Begin to move: from where the robot is, or at its rest pose if it does not say."""
        speed = self.playout.speed_of_scene()
        if self._robot.stream.slow_scene == "refuse" and speed < REAL_TIME:
            self.stop(
                f'the scene runs at {speed:.0%} of real time, and slow_scene = "refuse": nothing '
                'was moved. Make its steps cheaper or longer, or choose slow_scene = "wait"'
            )
            return
        known = np.isfinite(measured)
        start = np.where(known, measured, self._rest)
        actuators = self._robot.actuators
        self.assumed = [
            one.name for one, is_known in zip(actuators, known, strict=True) if not is_known
        ]
        for index, one in enumerate(actuators):
            slack = OUTSIDE * (one.position_max - one.position_min)
            if not one.position_min - slack <= start[index] <= one.position_max + slack:
                self.stop(
                    f"'{one.name}' is measured at {start[index]:.6g} {one.unit}, outside its range "
                    f"from {one.position_min:g} to {one.position_max:g}: nothing was moved. Check "
                    "its map and zero, or bring it into its range"
                )
                return
        self._limiter = self._limiter_at(start)
        self.target = self._in_range(self.playout.target())
        least = max((actuator.soft_start for actuator in self._robot.actuators), default=0.0)
        self._move = Move(
            self._limiter.position, self.target, self._rate, self._acceleration, least
        )
        self.state, self._heard = StreamState.SOFT_START, now

    def _find_silence(self, now: float) -> None:
        timeout = self._robot.safety.command_timeout
        if now - self._heard > timeout:
            self.fault(
                f"nothing came from the scene for {timeout:g} s (command_timeout): it hangs, was "
                "paused, or its steps take longer"
            )
        elif self.state is StreamState.SOFT_START:
            self._target_came = now  # none is owed yet
        elif self.state is StreamState.WAITING and now - self._target_came > timeout:
            self.fault(f"no target came from the scene for {timeout:g} s (command_timeout)")

    def _play(self) -> None:
        playout = self.playout
        playout.advance(self.dt)
        self.target = self._in_range(playout.target())
        self.state = StreamState.WAITING if playout.waiting else StreamState.STREAMING
        allowed = max(playout.step, self.dt)
        if self._robot.stream.slow_scene == "refuse" and playout.late > allowed + 1e-9:
            self.fault(
                f"the scene fell behind real time by more than a step, {allowed:g} s, and "
                'slow_scene = "refuse"'
            )

    def _arrive(self) -> None:
        """Change the state where the last command completed what it was for."""
        if self.state is StreamState.SOFT_START and self._moved:
            self.state, self._move = StreamState.STREAMING, None
        elif self.state is StreamState.HOLDING:
            self._hold -= self.dt
            if self._held and self._limiter.at_rest:
                self.state = StreamState.STOPPED if self._stay else StreamState.RETURNING
        elif self.state is StreamState.RETURNING and self._moved:
            self._hold -= self.dt
            if self._held and self._limiter.at_rest:
                self.state = StreamState.RESTED

    def _commanded(self) -> np.ndarray:
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
