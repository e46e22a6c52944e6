"""Rotations as quaternions, in SOFA's order (x, y, z, w)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from math import pi, sqrt  # noqa: F401
from typing import Any

import numpy

EPS = 4.0 * numpy.finfo(float).eps
"""Sine below which an angle counts as zero."""
NEXT_AXIS = [1, 2, 0, 1]
"""Next axis of x, y, z, and of z in the other direction."""
AXES_TO_TUPLE: dict[str, tuple[int, int, int, int]] = {}
"""Codes of 'sxyz' etc.: first axis, then 1 or 0: if the order is odd, the third axis is the first,
if the axes turn with the body (the order is then read from its end)."""
for _first, _odd, _again, _turning in itertools.product(range(3), (0, 1), (0, 1), (0, 1)):
    _second = (_first + 1 + _odd) % 3
    _axes = [_first, _second, _first if _again else 3 - _first - _second]
    _letters = "".join("xyz"[axis] for axis in (_axes[::-1] if _turning else _axes))
    AXES_TO_TUPLE["sr"[_turning] + _letters] = (_first, _odd, _again, _turning)
TUPLE_TO_AXES = {code: axes for axes, code in AXES_TO_TUPLE.items()}


class Quat(numpy.ndarray):
    """A rotation: Quat() for none, Quat(x, y, z, w) or Quat([x, y, z, w]).

    Product q1 q2 turns by q2 first, then by q1.
    """

    def __new__(cls, *args: Any) -> Quat:
        """Create it from numbers."""
        numbers = args[0] if len(args) == 1 else args or (0.0, 0.0, 0.0, 1.0)
        if numpy.shape(numbers) != (4,):
            raise TypeError(f"Quat takes nothing, four numbers or a list of four, got {args}.")
        quaternion = super().__new__(cls, (4,), float)
        quaternion[:] = numbers
        return quaternion

    def __eq__(self, other: Any) -> bool:  # type: ignore[override]
        """Return True if all numbers are equal."""
        return bool(numpy.all(numpy.asarray(self) == other))

    def __ne__(self, other: Any) -> bool:  # type: ignore[override]
        """Return True if any number differs."""
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    # -- changes in place ----------------------------------------------------------------------

    def normalize(self, *args: Any) -> Quat:
        """Scale it to length 1."""
        del args
        self /= self.getNorm()
        return self

    def rotateFromQuat(self, qb: Quat) -> Quat:
        """Multiply it by another quaternion from the right."""
        self[:] = Quat.product(self, qb)
        return self

    def rotateFromEuler(self, v: Sequence[float], axes: str = "sxyz") -> Quat:
        """Multiply it from the right by three angles [rad] about x, y, z.

        `axes` has no effect, as in the original; Quat.createFromEuler follows it.
        """
        del axes
        return self.rotateFromQuat(Quat.createFromEuler(v))

    def flip(self) -> Quat:
        """Change the sign if w < 0; the rotation stays the same."""
        if self.getRe() < 0.0:
            self *= -1.0
        return self

    # -- properties and conversions -------------------------------------------------------------

    def rotate(self, v: Sequence[float]) -> numpy.ndarray:
        """Return a vector rotated by it."""
        return numpy.asarray(Quat(self).normalize().getMatrix() @ numpy.asarray(v, float))

    def getNorm(self) -> float:
        """Return its length."""
        return float(numpy.linalg.norm(self))

    def getRe(self) -> float:
        """Return its w."""
        return float(self[3])

    def getIm(self) -> numpy.ndarray:
        """Return its x, y, z."""
        return numpy.array(self[:3])

    def getAxisAngle(self) -> list[Any]:
        """Return axis of length 1 and angle [rad] from 0 to pi; the axis is 0 for no rotation."""
        q = Quat(self).flip()
        angle = 2.0 * math.acos(min(q.getRe(), 1.0))
        if angle > numpy.finfo(float).eps:
            return [q.getIm() / math.sin(angle / 2.0), angle]
        return [numpy.zeros(3), angle]

    def getEulerAngles(self, axes: str = "sxyz") -> numpy.ndarray:
        """Return its three angles [rad] about these axes; see createFromEuler."""
        first, odd, again, turning = _code(axes)
        i, j = first, (first + 1 + odd) % 3
        k = 3 - i - j
        M = self.getMatrix()
        if again:  # M = R_i(c) R_j(b) R_i(a): sin b in the row and the column of i
            sine, end = math.hypot(M[i, j], M[i, k]), (M[j, i], -M[k, i])
            middle, start = math.atan2(sine, M[i, i]), (M[i, j], M[i, k])
        else:  # M = R_k(c) R_j(b) R_i(a): cos b in the column of i and the row of k
            sine, end = math.hypot(M[i, i], M[j, i]), (M[j, i], M[i, i])
            middle, start = math.atan2(-M[k, i], sine), (M[k, j], M[k, k])
        if sine > EPS:
            angles = [math.atan2(*start), middle, math.atan2(*end)]
        else:  # first and last axis are parallel
            angles = [math.atan2(-M[j, k], M[j, j]), middle, 0.0]
        return numpy.array(angles[::-1] if turning else angles) * (-1.0 if odd else 1.0)

    def getMatrix(self) -> numpy.ndarray:
        """Return the rotation matrix of a quaternion of length 1, shape (3, 3)."""
        x, y, z, w = self.tolist()
        v = numpy.array([x, y, z])
        skew = numpy.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        return 2.0 * (numpy.outer(v, v) + w * skew) + (2.0 * w * w - 1.0) * numpy.identity(3)

    def getConjugate(self) -> Quat:
        """Return the inverse rotation of a quaternion of length 1."""
        return Quat(-self[0], -self[1], -self[2], self[3])

    def getInverse(self) -> Quat:
        """Return the inverse rotation."""
        return Quat(self.getConjugate() / self.getNorm() ** 2)

    def toString(self) -> str:
        """Return its numbers separated by spaces, as for Data."""
        return " ".join(str(number) for number in self.tolist())

    # -- constructors --------------------------------------------------------------------------

    @staticmethod
    def createFromVectors(v1: Any, v2: Any) -> Quat:
        """Return the shortest rotation of the direction of v2 to the direction of v1."""
        v1, v2 = numpy.asarray(v1, float), numpy.asarray(v2, float)
        lengths = float(numpy.linalg.norm(v1) * numpy.linalg.norm(v2))
        return Quat(*numpy.cross(v2, v1), lengths + float(v1 @ v2)).normalize()

    @staticmethod
    def createFromAxisAngle(axis: Sequence[float], angle: float) -> Quat:
        """Return the rotation by an angle [rad] about an axis of length 1."""
        sine = math.sin(angle / 2.0)
        x, y, z = axis[0] * sine, axis[1] * sine, axis[2] * sine
        return Quat(x, y, z, math.cos(angle / 2.0)).normalize()

    @staticmethod
    def createFromEuler(v: Sequence[float], axes: str = "sxyz", inDegree: bool = False) -> Quat:
        """Return the rotation by three angles, one axis after the other.

        Args:
            v: Angles [rad].
            axes: 's' and three of x, y, z for fixed axes, 'r' for axes that turn with the body.
            inDegree: The angles are in degrees.
        """
        first, odd, again, turning = _code(axes)
        second = (first + 1 + odd) % 3
        last = first if again else 3 - first - second
        angles = [float(angle) * (pi / 180.0 if inDegree else 1.0) for angle in v]
        q = Quat()
        # Rotations about axes of the body equal those about fixed axes in reverse order.
        for axis, angle in zip(
            (first, second, last), angles[::-1] if turning else angles, strict=True
        ):
            q = Quat.product(Quat.createFromAxisAngle(numpy.identity(3)[axis], angle), q)
        return q

    @staticmethod
    def product(qa: Quat, qb: Quat) -> Quat:
        """Return the rotation by qb, then by qa."""
        va, vb, wa, wb = qa.getIm(), qb.getIm(), qa.getRe(), qb.getRe()
        return Quat(*(wa * vb + wb * va + numpy.cross(va, vb)), wa * wb - float(va @ vb))


def _code(axes: Any) -> tuple[int, int, int, int]:
    """Return the value of AXES_TO_TUPLE for a name or for such a value."""
    code = AXES_TO_TUPLE.get(axes.lower()) if isinstance(axes, str) else tuple(axes)
    if code not in TUPLE_TO_AXES:
        raise KeyError(f"There are no axes '{axes}'; there are: {', '.join(AXES_TO_TUPLE)}.")
    return code  # type: ignore[return-value]
