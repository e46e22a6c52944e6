"""Data of bounding boxes: computed when somebody asks."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.core.data import reading
from sofa_softctl.runtime.core.data.types import DataType
from sofa_softctl.runtime.core.data.views import DataContainer

_LARGEST = float(np.finfo(float).max)
NO_BOX = np.array([[_LARGEST] * 3, [-_LARGEST] * 3])
"""The box of nothing, as SOFA writes it."""


def box_of(points: np.ndarray) -> np.ndarray:
    """Smallest and largest corner of what holds the points (n, 3), shape (2, 3)."""
    return np.stack([points.min(axis=0), points.max(axis=0)]) if len(points) else NO_BOX


class BoundingBoxData(DataContainer):
    """SOFA's Sofa.Types.BoundingBox: the box now; what a scene gave is in it."""

    sofa_class = "Sofa.Types.BoundingBox"
    __slots__ = ()

    @override
    def get(self) -> np.ndarray:
        given = self._value if self._parent is None else super().get()
        now = self.owner.find_box()
        return np.stack([np.minimum(given[0], now[0]), np.maximum(given[1], now[1])])

    def getMin(self) -> list[float]:
        """Smallest corner."""
        return list(self.get()[0].tolist())

    def getMax(self) -> list[float]:
        """Largest corner."""
        return list(self.get()[1].tolist())

    def getCenter(self) -> list[float]:
        """The point in the middle."""
        return list(self.get().mean(axis=0).tolist())

    def setMin(self, corner: Any) -> None:
        """Have that corner in it at least."""
        self.value = [corner, self._value[1]]

    def setMax(self, corner: Any) -> None:
        """Have that corner in it at least."""
        self.value = [self._value[0], corner]


class BoundingBox(DataType):
    """Smallest and largest corner, shape (2, 3); the owner's `find_box()` says which."""

    data_class = BoundingBoxData

    def __init__(self, help: str, **options: Any) -> None:
        super().__init__([], help, **options)
        self.computed = True  # and yet a scene may give one

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
