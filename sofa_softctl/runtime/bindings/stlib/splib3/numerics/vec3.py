"""Vectors of three numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

Three = Sequence[float] | numpy.ndarray


class Vec3(numpy.ndarray):
    """An array of three numbers: Vec3(), Vec3(1.0), Vec3(1, 2, 3) or Vec3([1, 2, 3]).

    What moves it changes it, and gives it again.
    """

    def __new__(cls, *args: Any) -> Vec3:
        """Make it of numbers."""
        vector = super().__new__(cls, (3,), float)
        vector[:] = _three("Vec3", args) if args else 0.0
        return vector

    def __eq__(self, other: Any) -> bool:  # type: ignore[override]
        """Whether all numbers are the same."""
        return bool(numpy.all(numpy.asarray(self) == other))

    def __ne__(self, other: Any) -> bool:  # type: ignore[override]
        """Whether any number differs."""
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def getNorm(self) -> float:
        """Its length."""
        return math.sqrt(Vec3.dot(self, self))

    def toString(self) -> str:
        """Its numbers with spaces between them, as Data take them."""
        return " ".join(str(number) for number in self.tolist())

    def toList(self) -> list[float]:
        """Its numbers."""
        return self.tolist()  # type: ignore[no-any-return]

    def normalize(self, *args: Any) -> Vec3:
        """Make its length 1."""
        del args
        self /= self.getNorm()
        return self

    def translate(self, *args: Any) -> Vec3:
        """Add a vector, three numbers, or one to all three."""
        self += _three("translate", args)
        return self

    def scale(self, *args: Any) -> Vec3:
        """Multiply by those of a vector, by three numbers, or all by one."""
        self *= _three("scale", args)
        return self

    def rotateFromQuat(self, q: Any) -> Vec3:
        """Turn it by a quaternion."""
        from splib3.numerics.quat import Quat

        pure = Quat(*self, 0.0)
        self[:] = Quat.product(q, Quat.product(pure, q.getInverse())).getIm()
        return self

    def rotateFromEuler(self, v: Three, axis: str = "sxyz") -> Vec3:
        """Turn it by three angles [rad] about those axes; see Quat.createFromEuler."""
        from splib3.numerics.quat import Quat

        return self.rotateFromQuat(Quat.createFromEuler(v, axis))

    def rotateFromAxisAngle(self, axis: Three, angle: float) -> Vec3:
        """Turn it by an angle [rad] about an axis of length 1."""
        from splib3.numerics.quat import Quat

        return self.rotateFromQuat(Quat.createFromAxisAngle(axis, angle))

    @staticmethod
    def dot(v1: Three, v2: Three) -> float:  # type: ignore[override]
        """Scalar product."""
        return v1[0] * v2[0] + v1[1] * v2[1] + v1[2] * v2[2]

    @staticmethod
    def cross(v1: Three, v2: Three) -> Vec3:
        """Vector product."""
        return Vec3(
            v1[1] * v2[2] - v1[2] * v2[1],
            v1[2] * v2[0] - v1[0] * v2[2],
            v1[0] * v2[1] - v1[1] * v2[0],
        )


def _three(what: str, args: tuple[Any, ...]) -> Any:
    """One number or three, given by themselves or as a list."""
    given = args[0] if len(args) == 1 else args
    if numpy.shape(given) not in ((), (3,)):
        raise TypeError(f"{what} takes one number, three numbers or a list of three, got {args}.")
    return given


def vadd(a: Three, b: Three) -> list[float]:
    """Sum of two vectors."""
    return [a[0] + b[0], a[1] + b[1], a[2] + b[2]]


def vsub(a: Three, b: Three) -> list[float]:
    """Difference of two vectors."""
    return [a[0] - b[0], a[1] - b[1], a[2] - b[2]]


def sadd(a: Three, b: float) -> list[float]:
    """A vector and a number added to all its own."""
    return [a[0] + b, a[1] + b, a[2] + b]


def ssub(a: Three, b: float) -> list[float]:
    """A vector and a number taken from all its own."""
    return [a[0] - b, a[1] - b, a[2] - b]


def smul(a: Three, b: float) -> list[float]:
    """A vector times a number."""
    return [a[0] * b, a[1] * b, a[2] * b]


def sdiv(a: Three, b: float) -> list[float]:
    """A vector over a number."""
    return [a[0] / b, a[1] / b, a[2] / b]
