"""RegularGridTopology: a box of equal cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sofa_softctl.runtime.components.topology.grid import GridTopology
from sofa_softctl.runtime.components.topology.limits import with_limits
from sofa_softctl.runtime.core.data.types import Real, Vector


class RegularGridTopology(GridTopology):
    """A box from min to max. Where n is 1 it is flat: in the middle along x and y, at min along z.

    With `cellWidth` SOFA makes n of it, but keeps the size of the cells that the n of the scene
    gives; so does this class.
    """

    min = Vector(3, [0.0, 0.0, 0.0], "One corner.", unit="length")
    max = Vector(3, [1.0, 1.0, 1.0], "The opposite corner.", unit="length")
    p0 = Vector(3, [0.0, 0.0, 0.0], "First vertex; by default the corner at min.", unit="length")
    cellWidth = Real(0.0, "Makes n, as the box divided by it; unused at 0.", unit="length")

    def assign(self, values: Mapping[str, Any]) -> None:
        """See Base; the corners may be given as xmin, ymin, ... zmax."""
        super().assign(with_limits(values))

    def make(self) -> None:
        """See GridTopology."""
        low, high = self.min.get(), self.max.get()
        n = self.n.get() if self.n.get().shape == (3,) else self.resolution()
        self._size = (high - low) / np.maximum(n - 1, 1)
        if not self.p0.isSet():
            middle = (n <= 1) & [True, True, False]
            self.p0.set(np.where(middle, 0.5 * (low + high), low))
        if self.cellWidth.get():
            self.n.set(np.ceil((high - low) / self.cellWidth.get()).astype(np.int64) + 1)
        super().make()

    def cells_at(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The cell of each point, or the nearest one, and the coordinates there, 0 to 1 inside.

        Args:
            points: Shape (k, 3); the grid must have cells along all three directions.
        """
        steps = (points - self.p0.get()) / self._size
        n = self.n.get()
        first = np.clip(np.floor(steps), 0, n - 2).astype(np.int64)
        i, j, k = first.T
        return i + (n[0] - 1) * (j + (n[1] - 1) * k), steps - first

    def points(self, steps: np.ndarray) -> np.ndarray:
        """See GridTopology."""
        return self.p0.get() + self._size * steps
