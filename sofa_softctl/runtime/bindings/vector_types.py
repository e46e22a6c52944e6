"""SofaTypes: short vectors of numbers, Vec3d(1, 2, 3) and the like."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np


class _Vec(np.ndarray):
    """A fixed number of numbers."""

    width: ClassVar[int]
    kind: ClassVar[type]

    def __new__(cls, *values: Any) -> _Vec:
        given: np.ndarray = np.asarray(
            values[0] if len(values) == 1 else values, dtype=cls.kind
        ).ravel()
        if not len(given):
            given = np.zeros(cls.width, cls.kind)
        if len(given) != cls.width:
            raise ValueError(f"{cls.__name__} takes {cls.width} numbers, got {len(given)}.")
        return given.copy().view(cls)

    def set(self, *values: Any) -> None:
        """Replace its numbers."""
        self[:] = values[0] if len(values) == 1 else values

    def __eq__(self, other: object) -> bool:  # type: ignore[override]
        return bool(np.array_equal(np.asarray(self), np.asarray(other)))

    def __ne__(self, other: object) -> bool:  # type: ignore[override]
        return not self == other

    __hash__ = None  # type: ignore[assignment]


def vector_types() -> dict[str, type]:
    """Vec1d to Vec6d, with d, f or i."""
    kinds = {"d": float, "f": float, "i": int}
    return {
        f"Vec{width}{letter}": type(f"Vec{width}{letter}", (_Vec,), {"width": width, "kind": kind})
        for width in (1, 2, 3, 4, 6)
        for letter, kind in kinds.items()
    }
