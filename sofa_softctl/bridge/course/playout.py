"""The robot's clock: targets of the scene, at the scene's times, played at a fixed rate.

The clock starts at the time of the first target, when `lookahead` further ones wait, and never
passes the newest one. While more than `lookahead` - 1 steps are left to play it runs in real time;
below, it slows down in proportion to the steps left. So a scene at half of real time moves
the robot evenly at half speed, and one that stops brings it to rest at its last target.
"""

from __future__ import annotations

from collections import deque

import numpy as np

REAL_TIME_FACTOR_MIN = 0.9
"""Scene time per second [s/s] below which a scene is slower than real time."""


class TargetBuffer:
    """Queue of targets, with the robot's clock.

    Args:
        interpolation: Interpolation between targets: 'linear', or 'hold' for the last target.
        lookahead: Number of targets that must wait behind the first before the clock starts.
    """

    def __init__(self, interpolation: str, lookahead: int) -> None:
        self.linear, self.lookahead = interpolation == "linear", lookahead
        self.time = float("nan")
        """The robot's clock [s]."""
        self.waiting = False
        """Whether the clock ran slower than real time in the last period."""
        self.waited = 0.0
        """Time for which the clock waited since the start [s]."""
        self.late = 0.0
        """Waiting time beyond that of a scene at `REAL_TIME_FACTOR_MIN`, falling with time [s]."""
        self.step = 0.0
        """Time between the newest two targets [s]."""
        self._targets: deque[tuple[float, np.ndarray]] = deque()
        self._sent: list[tuple[float, float]] = []
        """Send times of the first targets, and their scene times [s]."""

    def __len__(self) -> int:
        """Return the number of targets: the one at the clock, and later ones."""
        return len(self._targets)

    def add(self, time: float, target: np.ndarray, sent: float) -> None:
        """Queue a target; `time` is later than the last target's."""
        if self._targets:
            self.step = time - self._targets[-1][0]
        else:
            self.time = time
        self._targets.append((time, target))
        if len(self._sent) <= self.lookahead:
            self._sent.append((sent, time))

    @property
    def ready(self) -> bool:
        """Return True if the clock may start."""
        return len(self._targets) > self.lookahead

    def speed_of_scene(self) -> float:
        """Return the scene time per second, from targets before the start; inf if not measurable.

        The first interval is left out if there are others: a scene compiles in its first steps.
        """
        times = self._sent[1:] if len(self._sent) > 2 else self._sent
        if len(times) < 2 or times[-1][0] <= times[0][0]:
            return float("inf")
        return (times[-1][1] - times[0][1]) / (times[-1][0] - times[0][0])

    def advance(self, dt: float) -> None:
        """Advance the clock by a period."""
        left = self._targets[-1][0] - self.time
        reserve = (self.lookahead - 1) * self.step
        speed = 1.0 if left >= reserve else left / reserve
        move = min(speed * dt, left)
        self.time += move
        self.waiting = move < 0.99 * dt
        self.waited += dt - move
        self.late = max(0.0, self.late + dt - move - (1.0 - REAL_TIME_FACTOR_MIN) * dt)
        reached = self.time + 1e-6 * dt  # sums of periods differ from the scene's sums of steps
        while len(self._targets) > 1 and self._targets[1][0] <= reached:
            self._targets.popleft()

    def target(self) -> np.ndarray:
        """Return the interpolated target at the clock [unit], shape (n,)."""
        time, last = self._targets[0]
        if not self.linear or len(self._targets) == 1:
            return last
        next_time, next_target = self._targets[1]
        fraction = max((self.time - time) / (next_time - time), 0.0)
        target: np.ndarray = last + fraction * (next_target - last)
        return target
