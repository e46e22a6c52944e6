"""Obstacles of points, with a hinge cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.surrogate.planning.obstacles.solids import Solid
from sofa_softctl.surrogate.planning.obstacles.swept import swept
from sofa_softctl.surrogate.planning.probes import Probe


@dataclass(frozen=True, eq=False)
class Obstacle:
    """Cost weight * max(0, margin - distance) at every instant.

    The hinge is an exact penalty: a weight above the other terms' gain by entering keeps the point
    out. With `between` straight ways between instants cost weight times their depth in the solid
    too, so that no point jumps through a wall.

    Source: Schulman et al. 2014, "Motion planning with sequential convex optimization and convex
        collision checking", eq. (4), and section V for the way between instants.
    """

    probe: Probe
    """The point."""
    shape: Solid
    """The solid."""
    weight: float
    """Cost of depth inside the margin [cost / length]."""
    margin: float = 0.0
    """Distance to keep [length]."""
    between: bool = False
    """Whether ways between instants cost too. Planning sets it where a plan would go through."""

    def __post_init__(self) -> None:
        if not (0.0 < self.weight < np.inf and 0.0 <= self.margin < np.inf):
            raise ValueError(
                "an Obstacle needs a positive weight, and a margin that is not negative. Got: "
                f"weight {self.weight}, margin {self.margin}"
            )

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of its outputs."""
        return self.probe.rows

    def violation(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """margin - distance [length], shape (K,), positive where too near; derivatives, (K, m)."""
        p, p_y = self.probe.locate(y)
        far, normal = self.shape.distance(p)
        return self.margin - far, -np.einsum("ki,kim->km", normal, p_y)

    def violation_between(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Depth of the straight ways between instants in the solid itself.

        Returns:
            -distance [length], shape (K - 1,), positive inside; derivatives by the outputs at the
            start of each way, (K - 1, m), and at its end, (K - 1, m).
        """
        p, p_y = self.probe.locate(y)
        way = swept(self.shape, p[:-1], p[1:])
        by_start = -np.einsum("ki,kim->km", way.by_start, p_y[:-1])
        return -way.distance, by_start, -np.einsum("ki,kim->km", way.by_end, p_y[1:])

    def depth(self, y: np.ndarray) -> np.ndarray:
        """Depths in the margin at instants 2 to K, then those of ways if they cost, shape (h,)."""
        at = self.violation(y[1:])[0]
        return np.concatenate((at, self.violation_between(y)[0])) if self.between else at
