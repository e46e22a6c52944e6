"""Vectors of three numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

Three = Sequence[float] | numpy.ndarray


class Vec3(numpy.ndarray):
    """Array of three numbers: Vec3(), Vec3(1.0), Vec3(1, 2, 3) or Vec3([1, 2, 3]).

    Methods that move it change it in place, and return it.
    """

    def __new__(cls, *args: Any) -> Vec3:
        """Create it from numbers."""
        vector = super().__new__(cls, (3,), float)
        vector[:] = _three("Vec3", args) if args else 0.0
        return vector

    def __eq__(self, other: Any) -> bool:  # type: ignore[override]
        """Return True if all numbers are equal."""
        return bool(numpy.all(numpy.asarray(self) == other))

    def __ne__(self, other: Any) -> bool:  # type: ignore[override]
        """Return True if any number differs."""
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def getNorm(self) -> float:
        """Return its length."""
        return math.sqrt(Vec3.dot(self, self))

    def toString(self) -> str:
        """Return its numbers separated by spaces, as for Data."""
        return " ".join(str(number) for number in self.tolist())

    def toList(self) -> list[float]:
        """Return its numbers as a list."""
        return self.tolist()  # type: ignore[no-any-return]

    def normalize(self, *args: Any) -> Vec3:
        """Scale it to length 1."""
        del args
        self /= self.getNorm()
        return self

    def translate(self, *args: Any) -> Vec3:
        """Add a vector, three numbers, or one number to all three."""
        self += _three("translate", args)
        return self

    def scale(self, *args: Any) -> Vec3:
        """Multiply by a vector (each number), three numbers, or one number."""
        self *= _three("scale", args)
        return self

    def rotateFromQuat(self, q: Any) -> Vec3:
        """Rotate it by a quaternion."""
        from splib3.numerics.quat import Quat

        pure = Quat(*self, 0.0)
        self[:] = Quat.product(q, Quat.product(pure, q.getInverse())).getIm()
        return self

    def rotateFromEuler(self, v: Three, axis: str = "sxyz") -> Vec3:
        """Rotate it by three angles [rad] about these axes; see Quat.createFromEuler."""
        from splib3.numerics.quat import Quat

        return self.rotateFromQuat(Quat.createFromEuler(v, axis))

    def rotateFromAxisAngle(self, axis: Three, angle: float) -> Vec3:
        """Rotate it by an angle [rad] about an axis of length 1."""
        from splib3.numerics.quat import Quat

        return self.rotateFromQuat(Quat.createFromAxisAngle(axis, angle))

    @staticmethod
    def dot(v1: Three, v2: Three) -> float:  # type: ignore[override]
        """Return the scalar product."""
        return v1[0] * v2[0] + v1[1] * v2[1] + v1[2] * v2[2]

    @staticmethod
    def cross(v1: Three, v2: Three) -> Vec3:
        """Return the vector product."""
        return Vec3(
            v1[1] * v2[2] - v1[2] * v2[1],
            v1[2] * v2[0] - v1[0] * v2[2],
            v1[0] * v2[1] - v1[1] * v2[0],
        )


def _three(caller: str, args: tuple[Any, ...]) -> Any:
    """Return one number or three, from separate arguments or a list."""
    numbers = args[0] if len(args) == 1 else args
    if numpy.shape(numbers) not in ((), (3,)):
        raise TypeError(f"{caller} takes one number, three numbers or a list of three, got {args}.")
    return numbers


def vadd(a: Three, b: Three) -> list[float]:
    """Return the sum of two vectors."""
    return [a[0] + b[0], a[1] + b[1], a[2] + b[2]]


def vsub(a: Three, b: Three) -> list[float]:
    """Return the difference of two vectors."""
    return [a[0] - b[0], a[1] - b[1], a[2] - b[2]]


def sadd(a: Three, b: float) -> list[float]:
    """Add a number to all numbers of a vector."""
    return [a[0] + b, a[1] + b, a[2] + b]


def ssub(a: Three, b: float) -> list[float]:
    """Subtract a number from all numbers of a vector."""
    return [a[0] - b, a[1] - b, a[2] - b]


def smul(a: Three, b: float) -> list[float]:
    """Multiply a vector by a number."""
    return [a[0] * b, a[1] * b, a[2] * b]


def sdiv(a: Three, b: float) -> list[float]:
    """Divide a vector by a number."""
    return [a[0] / b, a[1] / b, a[2] / b]
