"""PlaneROI."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.roi.base import RegionOfInterest
from sofa_softctl.runtime.components.roi.box import (
    across_oriented_box,
    within_oriented_box,
)
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Bool, Coords, Vectors


class PlaneROI(RegionOfInterest):
    """Near at least one parallelogram: within half the depth above and below it.

    As in SOFA a parallelogram without depth holds every point of its plane, state and elements
    are searched upward too, and a parallelogram that changes counts when the points or elements
    change, not at once.
    """

    position = Coords(
        [], "Points to look at.", unit="length", auto_link=False, aliases=("rest_position",)
    )
    plane = Vectors(
        10, [[0.0] * 10], "Three corners and the depth of each parallelogram.", unit="length"
    )
    drawBoxes = Bool(False, "Draw the region.", aliases=("isVisible",))

    def find_points(self) -> Data:
        """See RegionOfInterest."""
        state = None if self._context is None else self._context.find_upward("state")
        return super().find_points() if state is None else state._data["rest_position"]

    def find_topology(self) -> Component | None:
        """See RegionOfInterest."""
        return None if self._context is None else self._context.find_upward("topology")

    def compute(self) -> None:
        """See Engine; without a parallelogram the outputs stay as they are."""
        if len(self.plane.get()):
            super().compute()

    def contains(self, points: np.ndarray) -> np.ndarray:
        """See RegionOfInterest."""
        return np.any(self._near(points), axis=0)

    def contains_elements(self, points: np.ndarray, elements: np.ndarray) -> np.ndarray:
        """Which elements lie with all vertices at the same parallelogram, bool (m,)."""
        return np.any(self._near(points)[:, elements].all(axis=2), axis=0)

    def _near(self, points: np.ndarray) -> np.ndarray:
        """Which points are near each parallelogram, bool (planes, n)."""
        return np.array(
            [
                within_oriented_box(points, plane)
                if plane[9] != 0.0
                else across_oriented_box(points, plane) == 0.0
                for plane in self.plane.get()
            ]
        )
