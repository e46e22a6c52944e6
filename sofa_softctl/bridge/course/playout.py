"""The robot's clock: targets of the scene, at the scene's times, played at a fixed rate.

The clock starts at the time of the first target, when `lookahead` further ones wait, and never
passes the newest one. While more than `lookahead` - 1 steps are left to play it runs in real time;
below, it slows down in proportion to what is left. So a scene that runs at half of real time moves
the robot evenly at half speed, and one that stops brings it to rest at its last target.
"""

from __future__ import annotations

from collections import deque

import numpy as np

REAL_TIME = 0.9
"""A scene that computes less than this much of its time in a second is slower than real time."""


class Playout:
    """Targets that wait, and the clock that passes them.

    Args:
        interpolation: Between targets: 'linear', or 'hold', the last one.
        lookahead: Targets that wait behind the one at the clock, at the start.
    """

    def __init__(self, interpolation: str, lookahead: int) -> None:
        self.linear, self.lookahead = interpolation == "linear", lookahead
        self.time = float("nan")
        """The robot's clock [s]."""
        self.waiting = False
        """Whether the clock ran slower than real time in the last period."""
        self.waited = 0.0
        """Time for which it waited since the start [s]."""
        self.late = 0.0
        """Time for which it waited beyond what a scene at `REAL_TIME` needs, less as time passes
        [s]."""
        self.step = 0.0
        """Time between the newest two targets [s]."""
        self._targets: deque[tuple[float, np.ndarray]] = deque()
        self._sent: list[tuple[float, float]] = []
        """When the first targets were sent, and their times [s]."""

    def __len__(self) -> int:
        """How many targets are kept: the one at the clock, and those that wait."""
        return len(self._targets)

    def add(self, time: float, target: np.ndarray, sent: float) -> None:
        """Queue a target; `time` is later than that of the last one."""
        if self._targets:
            self.step = time - self._targets[-1][0]
        else:
            self.time = time
        self._targets.append((time, target))
        if len(self._sent) <= self.lookahead:
            self._sent.append((sent, time))

    @property
    def ready(self) -> bool:
        """Whether the clock may start."""
        return len(self._targets) > self.lookahead

    def speed_of_scene(self) -> float:
        """Scene time in a second, from the targets before the start; inf: not measurable.

        The first interval is left out where there are others: a scene compiles in its first steps.
        """
        first = self._sent[1:] if len(self._sent) > 2 else self._sent
        if len(first) < 2 or first[-1][0] <= first[0][0]:
            return float("inf")
        return (first[-1][1] - first[0][1]) / (first[-1][0] - first[0][0])

    def advance(self, dt: float) -> None:
        """Let the clock run for a period."""
        left = self._targets[-1][0] - self.time
        reserve = (self.lookahead - 1) * self.step
        speed = 1.0 if left >= reserve else left / reserve
        move = min(speed * dt, left)
        self.time += move
        self.waiting = move < 0.99 * dt
        self.waited += dt - move
        self.late = max(0.0, self.late + dt - move - (1.0 - REAL_TIME) * dt)
        reached = self.time + 1e-6 * dt  # sums of periods differ from the scene's sums of steps
        while len(self._targets) > 1 and self._targets[1][0] <= reached:
            self._targets.popleft()

    def target(self) -> np.ndarray:
        """What the scene asks for at the clock [unit], shape (n,)."""
        time, here = self._targets[0]
        if not self.linear or len(self._targets) == 1:
            return here
        next_time, following = self._targets[1]
        share = max((self.time - time) / (next_time - time), 0.0)
        found: np.ndarray = here + share * (following - here)
        return found
