"""Data of bounding boxes, computed when they are read."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.core.data import reading
from sofa_softctl.runtime.core.data.types import DataType
from sofa_softctl.runtime.core.data.views import DataContainer

_LARGEST = float(np.finfo(float).max)
NO_BOX = np.array([[_LARGEST] * 3, [-_LARGEST] * 3])
"""Box without content, as SOFA writes it."""


def box_of(points: np.ndarray) -> np.ndarray:
    """Return the smallest and largest corner of points (n, 3), shape (2, 3)."""
    return np.stack([points.min(axis=0), points.max(axis=0)]) if len(points) else NO_BOX


class BoundingBoxData(DataContainer):
    """SOFA's Sofa.Types.BoundingBox: the present box, which includes the box of the scene."""

    sofa_class = "Sofa.Types.BoundingBox"
    __slots__ = ()

    @override
    def get(self) -> np.ndarray:
        lower, upper = self._value if self._parent is None else super().get()
        present = self.owner.find_box()
        return np.stack([np.minimum(lower, present[0]), np.maximum(upper, present[1])])

    def getMin(self) -> list[float]:
        """Return the smallest corner."""
        return list(self.get()[0].tolist())

    def getMax(self) -> list[float]:
        """Return the largest corner."""
        return list(self.get()[1].tolist())

    def getCenter(self) -> list[float]:
        """Return the centre."""
        return list(self.get().mean(axis=0).tolist())

    def setMin(self, corner: Any) -> None:
        """Set the smallest corner that the box includes."""
        self.value = [corner, self._value[1]]

    def setMax(self, corner: Any) -> None:
        """Set the largest corner that the box includes."""
        self.value = [self._value[0], corner]


class BoundingBox(DataType):
    """Smallest and largest corner of the owner's `find_box()`, shape (2, 3)."""

    data_class = BoundingBoxData

    def __init__(self, help: str, **options: Any) -> None:
        super().__init__([], help, **options)
        self.computed = True  # and yet a scene may set one

    @override
    def convert(self, value: Any, owner: Any) -> np.ndarray:
        corners = reading.rows(reading.numbers(value), 3)
        if not len(corners):
            return NO_BOX.copy()
        if len(corners) != 2:
            raise ValueError(f"{len(corners)} corners")
        return corners

    @override
    def expectation(self, owner: Any) -> str:
        return "takes two corners of a box, 6 numbers"

    @override
    def sofa_name(self, owner: Any) -> str:
        return "BoundingBox"
