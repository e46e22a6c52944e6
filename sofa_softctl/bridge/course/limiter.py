"""Limits of position, speed and acceleration, in discrete time, for all actuators.

A command p and its speed v = (p - previous p) / dt are the state. Every period chooses the next
speed v', and p' = p + v' dt. With a = A dt, the most by which the speed may change in a period:

**Stopping.** From speed v > 0, speeds fall by a each period: v, v - a, v - 2 a, ... down to zero.
The distance that includes the present period is

    h(v) = dt (v + (v - a)+ + (v - 2 a)+ + ...),    h(v) = v dt + h((v - a)+),        (1)

which grows with v, and no admissible motion that begins with v stops in less. Its inverse V(s), the
greatest speed with which the next period may begin if there are s to go, has a closed form: for s
from dt a n (n - 1) / 2 to dt a n (n + 1) / 2 there are n speeds in (1), so that

    V(s) = s / (n dt) + a (n - 1) / 2.                                                (2)

**Limits.** v' is admissible if |v'| <= R, |v' - v| <= a, and -V(p - min) <= v' <= V(max - p): then
p' is in range, and the robot can still stop in it. The interval is never empty: where v > 0 was
admissible, h(v) <= s, (1) gives h((v - a)+) <= s - v dt, the distance left, so that (v - a)+, full
braking, is admissible next; v < 0 likewise, and v = 0 always. Whatever the target does, every
command therefore keeps all three limits.

**Target.** x is the target, w = (x - previous x) / dt its speed, at most R. Seen from a frame that
moves with it, the command is q = x - w dt - p behind, and has to stop after q: v' = w + V(q) for
q >= 0 and w - V(-q) for q < 0, moved into the admissible interval.

- A target within the limits is followed without any lag: from p = previous x, q = 0 and v' = w is
  admissible, so that p' = x.
- To a constant target, w = 0: each v' is at most V(q), after which (1) and (2) give
  V(q - v' dt) >= v' - a: the next step can brake, and v' <= a reaches the target exactly, where
  q = 0 and v' = 0. So it is reached in finite time and not passed. Only a speed that the command
  already has when the target comes to rest, and with which it cannot stop before it, goes beyond:
  by h((v - a)+) - q, what full braking needs, and no further. That much is the price of no lag: a
  law that never passes a target must hold back before one that could stop at any moment.
"""

from __future__ import annotations

import numpy as np


class Limiter:
    """Turns targets into commands that keep all limits, one call a period.

    Args:
        low: Least positions [unit], shape (n,).
        high: Greatest positions, above `low` [unit], shape (n,).
        rate: Greatest speeds, above 0 [unit/s], shape (n,).
        acceleration: Greatest accelerations, above 0 [unit/s2], shape (n,).
        dt: Period [s].
        start: First positions, at rest, from `low` to `high` [unit], shape (n,).
    """

    def __init__(
        self,
        low: np.ndarray,
        high: np.ndarray,
        rate: np.ndarray,
        acceleration: np.ndarray,
        dt: float,
        start: np.ndarray,
    ) -> None:
        self.low, self.high, self.rate, self.dt = low, high, rate, dt
        self.change = acceleration * dt
        """Greatest change of speed in a period [unit/s]."""
        self.position = np.clip(start, low, high)
        """The last command [unit], shape (n,)."""
        self.speed = np.zeros(len(low))
        """Speed of the last command [unit/s], shape (n,)."""
        self._target = self.position.copy()

    @property
    def at_rest(self) -> bool:
        """Return True if nothing moves, except for rounding."""
        return bool((np.abs(self.speed) <= 1e-9 * self.change).all())

    def follow(self, target: np.ndarray) -> np.ndarray:
        """Return the next command towards a target, finite, clipped to the limits [unit]."""
        target = np.clip(target, self.low, self.high)
        w = np.clip((target - self._target) / self.dt, -self.rate, self.rate)
        self._target = target
        behind = target - w * self.dt - self.position
        return self._move(w + np.sign(behind) * self._speed_limit(np.abs(behind)))

    def brake(self) -> np.ndarray:
        """Return the next command that ends the motion as soon as the limits permit."""
        command = self._move(np.zeros(len(self.speed)))
        self._target = command.copy()
        return command

    def _move(self, desired: np.ndarray) -> np.ndarray:
        up = np.minimum(self.speed + self.change, self.rate)
        down = np.maximum(self.speed - self.change, -self.rate)
        up = np.minimum(up, self._speed_limit(self.high - self.position))
        down = np.maximum(down, -self._speed_limit(self.position - self.low))
        # where rounding lets the two cross, by 1e-16 of the speed, the range of positions decides
        speed = np.minimum(np.maximum(desired, down), up)
        position = np.clip(self.position + speed * self.dt, self.low, self.high)
        self.position, self.speed = position, speed
        command: np.ndarray = position.copy()
        return command

    def _speed_limit(self, distance: np.ndarray) -> np.ndarray:
        """Return V(s) of (2) [unit/s]; `distance` is not negative [unit]."""
        a = self.change
        n = np.ceil(0.5 * (np.sqrt(1.0 + 8.0 * distance / (a * self.dt)) - 1.0))
        n = np.maximum(n, 1.0)
        speed: np.ndarray = distance / (n * self.dt) + 0.5 * a * (n - 1.0)
        return speed
