"""A smooth move from one pose to another, all actuators together."""

from __future__ import annotations

import numpy as np


class Move:
    """Positions from `start` to `end`: start + (end - start) (3 u^2 - 2 u^3), u = t / duration.

    The duration is the least for which no actuator exceeds its limits: its greatest speed is 3/2
    distance / duration, its greatest acceleration 6 distance / duration^2.

    Args:
        start: First pose, at rest [unit], shape (n,).
        end: Last pose, at rest [unit], shape (n,).
        rate: Greatest speeds [unit/s], shape (n,).
        acceleration: Greatest accelerations [unit/s2], shape (n,).
        duration_min: Least duration [s].
    """

    def __init__(
        self,
        start: np.ndarray,
        end: np.ndarray,
        rate: np.ndarray,
        acceleration: np.ndarray,
        duration_min: float = 0.0,
    ) -> None:
        self.start, self.end = start.copy(), end.copy()
        self.duration = max(duration_min, move_duration(np.abs(end - start), rate, acceleration))
        """Duration of the move [s]."""
        self._elapsed = 0.0

    @property
    def is_done(self) -> bool:
        """Return True if the end was returned."""
        return self._elapsed >= self.duration

    def advance(self, dt: float) -> np.ndarray:
        """Return the position after another `dt` [unit], shape (n,)."""
        self._elapsed += dt
        if self.is_done:
            return self.end
        u = self._elapsed / self.duration
        position: np.ndarray = self.start + (self.end - self.start) * (u * u * (3.0 - 2.0 * u))
        return position


def move_duration(distance: np.ndarray, rate: np.ndarray, acceleration: np.ndarray) -> float:
    """Return the least duration of moves by these distances [s]."""
    durations = np.maximum(1.5 * distance / rate, np.sqrt(6.0 * distance / acceleration))
    return float(durations.max(initial=0.0))
