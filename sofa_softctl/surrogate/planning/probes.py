"""Points in space as functions of a robot's outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Probe(Protocol):
    """A point that depends on some rows of the outputs, with its derivative."""

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of its m outputs."""
        ...

    def locate(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The point and its derivative.

        Args:
            y: The outputs `rows` at K instants [length], shape (K, m).

        Returns:
            Points [length], shape (K, 3), NaN where there is none; derivatives, (K, 3, m).
        """
        ...


@dataclass(frozen=True)
class Point:
    """A point of three outputs: a node, or a further point such as the tip."""

    rows: tuple[int, int, int]
    """Rows of x, y and z, see `Layout.node` and `Layout.point`."""

    def locate(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `Probe`."""
        return y, np.broadcast_to(np.eye(3), (len(y), 3, 3))


@dataclass(frozen=True)
class Laser:
    """Intersection of the ray from a base point through the tip with a plane."""

    base: tuple[int, int, int]
    """Rows of the base point."""
    tip: tuple[int, int, int]
    """Rows of the tip, where the ray starts."""
    normal: tuple[float, float, float]
    """Normal n of the plane n . x = offset, of any length but 0."""
    offset: float
    """n . x on the plane."""

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of base, then tip."""
        return (*self.base, *self.tip)

    def locate(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `Probe`. NaN where the ray points away from the plane or along it.

        With e = tip - base and t = (offset - n . tip) / (n . e), the point is tip + t e. It
        moves in the plane, by (1 + t) Q dtip - t Q dbase with Q = I - e n^T / (n . e).
        """
        n = np.asarray(self.normal, float)
        base, tip = y[:, :3], y[:, 3:]
        e = tip - base
        slope = e @ n  # (K,)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (self.offset - tip @ n) / slope
            t = np.where((t >= 0.0) & np.isfinite(t), t, np.nan)
            Q = np.eye(3) - e[:, :, None] * n / slope[:, None, None]
        t = t[:, None]
        by_base, by_tip = -t[:, :, None] * Q, (1.0 + t[:, :, None]) * Q
        return tip + t * e, np.concatenate((by_base, by_tip), axis=2)
