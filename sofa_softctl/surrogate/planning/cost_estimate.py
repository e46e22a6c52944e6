"""Estimated cost of a plan: equilibria, time and memory."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from sofa_softctl.surrogate.cells.adaptive import AdaptiveGrid
from sofa_softctl.surrogate.cells.interpolant import Interpolant
from sofa_softctl.surrogate.grid.corners import Key, lowest


@dataclass(frozen=True)
class CostEstimate:
    """Number and cost of the equilibria near a plan on the affine map.

    It is too low if the robot's map leads the plan elsewhere, or the optimiser tries more cells.
    """

    corners: dict[int, int]
    """Number of equilibria by level, including those solved for the estimate."""
    known: int
    """Number of corners in the store."""
    each: float
    """Time of one equilibrium, 0 if all are known [s]."""
    size: int
    """Memory, or disk if there is a store, of one equilibrium [bytes]: 8 (1 + d) n."""
    workers: int = 0
    """Number of processes that solve equilibria, or 0 for this process only."""
    stored: bool = False
    """Whether equilibria are stored on disk."""
    at_most: bool = False
    """Whether the estimate is an upper bound, since cells are split only where needed."""

    @property
    def equilibria(self) -> int:
        """Number of equilibria to solve."""
        return sum(self.corners.values())

    @property
    def seconds(self) -> float:
        """Time of all equilibria [s]."""
        return self.equilibria * self.each / max(self.workers, 1)

    @property
    def bytes(self) -> int:
        """Memory or disk space of all equilibria."""
        return self.equilibria * self.size

    def __str__(self) -> str:
        """Return the estimate as text."""
        if not self.equilibria:
            return f"no equilibria: the store has all {self.known}"
        location = "on disk" if self.stored else "in memory"
        stored_text = f"; {self.known} more are in the store" if self.known else ""
        bound_text = "at most " if self.at_most else ""
        return (
            f"{bound_text}about {self.equilibria} equilibria, {_time(self.seconds)}, "
            f"{self.bytes / 1e6:.2g} MB {location}{stored_text}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {
            "equilibria": self.equilibria,
            "at_most": self.at_most,
            "corners": {str(level): count for level, count in sorted(self.corners.items())},
            "from_store": self.known,
            "seconds": self.seconds,
            "bytes": self.bytes,
        }


def estimate_cells(grid: Interpolant, a: np.ndarray, rounds: int, workers: int = 0) -> CostEstimate:
    """Estimate the cost of a plan along the coordinates a, shape (K, d), on a grid of cells.

    Levels from the present one, or 0 if cells are split, to `rounds` are counted. Corners in the
    store are read. The time of one equilibrium is measured on one or two that the plan needs.
    """
    first = 0 if isinstance(grid, AdaptiveGrid) else grid.level
    keys, corners = corners_near(grid, a, rounds, first), grid.corners
    if corners.store is not None:
        corners.evaluate_missing(
            [key for key in keys if corners.store.get(corners.place(key)) is not None]
        )
    missing = [key for key in keys if corners.number(key) is None]
    levels = [level for level, count in grid.counts.exact.items() for _ in range(count)]
    levels += [key[0] for key in missing]
    return CostEstimate(
        corners={level: levels.count(level) for level in sorted(set(levels))},
        known=grid.counts.from_store,
        each=_seconds_of(grid, missing),
        size=8 * (1 + grid.dimension) * grid.size,
        workers=workers,
        stored=corners.store is not None,
        at_most=isinstance(grid, AdaptiveGrid),
    )


def corners_near(grid: Interpolant, a: np.ndarray, rounds: int, first: int = 0) -> list[Key]:
    """Return the corners of cells with points a (K, d) on levels `first` to `rounds`."""
    cells = [key for level in range(first, rounds + 1) for key in grid.cell_keys(a, level)]
    corners = [grid.cells.corner_keys(cell) for cell in dict.fromkeys(cells)]
    return list(dict.fromkeys(lowest(key) for cell_corners in corners for key in cell_corners))


def _seconds_of(grid: Interpolant, missing: list[Key]) -> float:
    """Measure the time of one equilibrium, not the first of a process, which loads kernels."""
    duration = 0.0
    for key in missing[: 1 if grid.counts.evaluations else 2]:
        start = perf_counter()
        grid.corners.evaluate_missing([key])
        duration = perf_counter() - start
    return duration


def _time(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 100.0 else f"{seconds / 60.0:.0f} min"
