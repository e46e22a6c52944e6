"""Short vectors of numbers: SofaTypes such as Vec3d(1, 2, 3), and Sofa.PyTypes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sofa_softctl.runtime.bindings.stlib.splib3.numerics import vec3 as splib
from sofa_softctl.runtime.core.data.data import Data

_EQUALITY_TOLERANCE = 1e-6
"""Difference up to which SOFA treats two numbers of vectors as equal."""


class _Vec(np.ndarray):
    """Vector of a fixed number of numbers."""

    width: ClassVar[int]
    kind: ClassVar[type]

    def __new__(cls, *values: Any) -> _Vec:
        array: np.ndarray = np.asarray(
            values[0] if len(values) == 1 else values, dtype=cls.kind
        ).ravel()
        if not len(array):
            array = np.zeros(cls.width, cls.kind)
        if len(array) != cls.width:
            raise ValueError(f"{cls.__name__} takes {cls.width} numbers, got {len(array)}.")
        return array.copy().view(cls)

    def set(self, *values: Any) -> None:
        """Replace all numbers."""
        self[:] = values[0] if len(values) == 1 else values

    def clear(self) -> None:
        """Set all numbers to 0."""
        self[:] = 0

    def norm(self) -> float:
        """Return the length."""
        return float(np.linalg.norm(self))

    def norm2(self) -> float:
        """Return the squared length."""
        return float(np.vdot(self, self))

    def lNorm(self, power: int) -> float:
        """Return the norm of this power; the largest number for 0 or less, as in SOFA."""
        return float(np.linalg.norm(self, power if power > 0 else np.inf))

    def normalized(self) -> _Vec:
        """Return the vector of length 1 in this direction."""
        return type(self)(np.asarray(self) / self.norm())

    def normalize(self) -> bool:
        """Scale it to length 1; return False, without a change, if its length is 0."""
        length = self.norm()
        if length > 0.0:
            self[:] = np.asarray(self) / length
        return length > 0.0

    def __mul__(self, other: Any) -> Any:
        return self.dot(other) if isinstance(other, _Vec) else super().__mul__(other)

    def __eq__(self, other: object) -> bool:  # type: ignore[override]
        mine, theirs = np.asarray(self), np.asarray(other)
        same_shape = mine.shape == theirs.shape
        return same_shape and bool((np.abs(mine - theirs) <= _EQUALITY_TOLERANCE).all())

    def __ne__(self, other: object) -> bool:  # type: ignore[override]
        return not self == other

    __hash__ = None  # type: ignore[assignment]


class _Plane(_Vec):
    """Vector of 2 or 3 numbers, with a vector product."""

    def cross(self, other: Any) -> Any:
        """Return the vector product, a number for vectors of 2 numbers."""
        if self.width == 3:
            return type(self)(np.cross(np.asarray(self), other))
        return self[0] * other[1] - self[1] * other[0]


def vector_types() -> dict[str, type]:
    """Return the classes Vec1d to Vec6d, with d, f or i, by name."""
    kinds = {"d": float, "f": float, "i": int}
    return {
        f"Vec{width}{letter}": _vector_type(f"Vec{width}{letter}", width, kind)
        for width in (1, 2, 3, 4, 6)
        for letter, kind in kinds.items()
    }


def _vector_type(name: str, width: int, kind: type) -> type:
    axes = "xyzw"[:width] if width <= 4 else ""
    parts: dict[str, Any] = {axis: _coordinate(index) for index, axis in enumerate(axes)}
    for count in range(2, len(axes) + 1):  # xy, xyz, xyzw
        parts[axes[:count]] = _leading_coordinates(count)
    base = _Plane if width in (2, 3) else _Vec
    return type(name, (base,), {"width": width, "kind": kind, **parts})


def _coordinate(index: int) -> property:
    def set_coordinate(vector: Any, value: float) -> None:
        vector[index] = value

    return property(lambda vector: vector[index].item(), set_coordinate)


def _leading_coordinates(count: int) -> property:
    return property(lambda vector: tuple(vector[:count].tolist()))


class Vec3(splib.Vec3):
    """Sofa.PyTypes.Vec3: the class of splib3, which also takes a Data."""

    def __new__(cls, *args: Any) -> Vec3:
        """Create it from numbers, an array or a Data of three.

        Raises:
            AttributeError: There are not three numbers, or one; SOFA raises this, too.
        """
        values = [arg.value if isinstance(arg, Data) else arg for arg in args]
        try:
            return super().__new__(cls, *values)  # type: ignore[return-value]
        except TypeError as error:
            raise AttributeError(str(error)) from error


class RGBAColor(np.ndarray):
    """Sofa.PyTypes.RGBAColor: red, green, blue and opacity, from a list of four or a Data."""

    def __new__(cls, color: Any = None) -> RGBAColor:
        """Create it from numbers, or view the value of a Data or array.

        Raises:
            ValueError: There are not four numbers.
            TypeError: An entry is not a number.
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
