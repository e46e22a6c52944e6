"""SofaTypes: short vectors of numbers, Vec3d(1, 2, 3) and the like; and those of Sofa.PyTypes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sofa_softctl.runtime.bindings.stlib.splib3.numerics import vec3 as splib
from sofa_softctl.runtime.core.data.data import Data

_EQUAL_WITHIN = 1e-6
"""Difference up to which SOFA takes two numbers of vectors for the same."""


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

    def clear(self) -> None:
        """Make all its numbers 0."""
        self[:] = 0

    def norm(self) -> float:
        """Its length."""
        return float(np.linalg.norm(self))

    def norm2(self) -> float:
        """Its length squared."""
        return float(np.vdot(self, self))

    def lNorm(self, power: int) -> float:
        """Its norm of that power; the largest number for 0 or less, as in SOFA."""
        return float(np.linalg.norm(self, power if power > 0 else np.inf))

    def normalized(self) -> _Vec:
        """The vector of length 1 in its direction."""
        return type(self)(np.asarray(self) / self.norm())

    def normalize(self) -> bool:
        """Make its length 1; false, and nothing done, where it has no length."""
        length = self.norm()
        if length > 0.0:
            self[:] = np.asarray(self) / length
        return length > 0.0

    def __mul__(self, other: Any) -> Any:
        return self.dot(other) if isinstance(other, _Vec) else super().__mul__(other)

    def __eq__(self, other: object) -> bool:  # type: ignore[override]
        mine, theirs = np.asarray(self), np.asarray(other)
        same_shape = mine.shape == theirs.shape
        return same_shape and bool((np.abs(mine - theirs) <= _EQUAL_WITHIN).all())

    def __ne__(self, other: object) -> bool:  # type: ignore[override]
        return not self == other

    __hash__ = None  # type: ignore[assignment]


class _Plane(_Vec):
    """One with a vector product: of 2 or 3 numbers."""

    def cross(self, other: Any) -> Any:
        """The vector product; of 2 numbers the one number."""
        if self.width == 3:
            return type(self)(np.cross(np.asarray(self), other))
        return self[0] * other[1] - self[1] * other[0]


def vector_types() -> dict[str, type]:
    """Vec1d to Vec6d, with d, f or i."""
    kinds = {"d": float, "f": float, "i": int}
    return {
        f"Vec{width}{letter}": _vector_type(f"Vec{width}{letter}", width, kind)
        for width in (1, 2, 3, 4, 6)
        for letter, kind in kinds.items()
    }


def _vector_type(name: str, width: int, kind: type) -> type:
    axes = "xyzw"[:width] if width <= 4 else ""
    parts: dict[str, Any] = {axis: _entry(index) for index, axis in enumerate(axes)}
    for count in range(2, len(axes) + 1):  # xy, xyz, xyzw
        parts[axes[:count]] = _first(count)
    base = _Plane if width in (2, 3) else _Vec
    return type(name, (base,), {"width": width, "kind": kind, **parts})


def _entry(index: int) -> property:
    def set_entry(vector: Any, value: float) -> None:
        vector[index] = value

    return property(lambda vector: vector[index].item(), set_entry)


def _first(count: int) -> property:
    return property(lambda vector: tuple(vector[:count].tolist()))


class Vec3(splib.Vec3):
    """Sofa.PyTypes.Vec3: that of splib3, also of the value of a Data."""

    def __new__(cls, *args: Any) -> Vec3:
        """Make it of numbers, an array or a Data of three.

        Raises:
            AttributeError: there are not three, or one; SOFA raises this, too.
        """
        values = [arg.value if isinstance(arg, Data) else arg for arg in args]
        try:
            return super().__new__(cls, *values)  # type: ignore[return-value]
        except TypeError as error:
            raise AttributeError(str(error)) from error


class RGBAColor(np.ndarray):
    """Sofa.PyTypes.RGBAColor: red, green, blue and opacity, of a list of four or of a Data."""

    def __new__(cls, color: Any = None) -> RGBAColor:
        """Make it of numbers, or view the value of a Data or array.

        Raises:
            ValueError: there are not four numbers.
            TypeError: one of them is no number.
        """
        if isinstance(color, Data):
            color = color.array()
        values = np.zeros(4) if color is None else np.asarray(color)
        if values.shape != (4,):
            raise ValueError(f"RGBAColor takes four numbers, got shape {values.shape}.")
        if values.dtype.kind not in "fiu":
            raise TypeError(f"RGBAColor takes four numbers, got {color!r}.")
        return values.view(cls) if values.dtype == float else values.astype(float).view(cls)

    def r(self) -> float:
        """Red, 0 to 1."""
        return float(self[0])

    def g(self) -> float:
        """Green, 0 to 1."""
        return float(self[1])

    def b(self) -> float:
        """Blue, 0 to 1."""
        return float(self[2])

    def a(self) -> float:
        """Opacity, 0 to 1."""
        return float(self[3])


def py_types() -> dict[str, Any]:
    """Return the content of the module Sofa.PyTypes."""
    functions = ("vadd", "vsub", "sadd", "ssub", "smul")
    return {"RGBAColor": RGBAColor, "Vec3": Vec3} | {
        name: getattr(splib, name) for name in functions
    }
