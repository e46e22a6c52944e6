"""Rotations as quaternions, in SOFA's order (x, y, z, w)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from math import pi, sqrt  # noqa: F401
from typing import Any

import numpy

EPS = 4.0 * numpy.finfo(float).eps
"""Below it a sine counts as zero."""
NEXT_AXIS = [1, 2, 0, 1]
"""The axis after x, y, z, and after z in the other direction."""
AXES_TO_TUPLE: dict[str, tuple[int, int, int, int]] = {}
"""Of 'sxyz' and the like: first axis, whether the order is odd, whether the first axis comes
again as the third, whether the axes turn with the body; the last order is read from its end."""
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
        """Make it of numbers."""
        given = args[0] if len(args) == 1 else args or (0.0, 0.0, 0.0, 1.0)
        if numpy.shape(given) != (4,):
            raise TypeError(f"Quat takes nothing, four numbers or a list of four, got {args}.")
        quaternion = super().__new__(cls, (4,), float)
        quaternion[:] = given
        return quaternion

    def __eq__(self, other: Any) -> bool:  # type: ignore[override]
        """Whether all numbers are the same."""
        return bool(numpy.all(numpy.asarray(self) == other))

    def __ne__(self, other: Any) -> bool:  # type: ignore[override]
        """Whether any number differs."""
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    # -- what changes it -----------------------------------------------------------------------

    def normalize(self, *args: Any) -> Quat:
        """Make its length 1."""
        del args
        self /= self.getNorm()
        return self

    def rotateFromQuat(self, qb: Quat) -> Quat:
        """Multiply it by another from the right."""
        self[:] = Quat.product(self, qb)
        return self

    def rotateFromEuler(self, v: Sequence[float], axes: str = "sxyz") -> Quat:
        """Multiply it from the right by three angles [rad] about x, y, z.

        `axes` has no effect, as in the original; Quat.createFromEuler follows it.
        """
        del axes
        return self.rotateFromQuat(Quat.createFromEuler(v))

    def flip(self) -> Quat:
        """Of the two quaternions of its rotation, take the one with w >= 0."""
        if self.getRe() < 0.0:
            self *= -1.0
        return self

    # -- what it says --------------------------------------------------------------------------

    def rotate(self, v: Sequence[float]) -> numpy.ndarray:
        """A vector, turned by it."""
        return numpy.asarray(Quat(self).normalize().getMatrix() @ numpy.asarray(v, float))

    def getNorm(self) -> float:
        """Its length."""
        return float(numpy.linalg.norm(self))

    def getRe(self) -> float:
        """Its w."""
        return float(self[3])

    def getIm(self) -> numpy.ndarray:
        """Its x, y, z."""
        return numpy.array(self[:3])

    def getAxisAngle(self) -> list[Any]:
        """Axis of length 1, and angle [rad] from 0 to pi; no axis where it does not turn."""
        q = Quat(self).flip()
        angle = 2.0 * math.acos(min(q.getRe(), 1.0))
        if angle > numpy.finfo(float).eps:
            return [q.getIm() / math.sin(angle / 2.0), angle]
        return [numpy.zeros(3), angle]

    def getEulerAngles(self, axes: str = "sxyz") -> numpy.ndarray:
        """The three angles [rad] about those axes that make it; see createFromEuler."""
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
        """Rotation matrix, shape (3, 3), of a quaternion of length 1."""
        x, y, z, w = self.tolist()
        v = numpy.array([x, y, z])
        turned = numpy.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        return 2.0 * (numpy.outer(v, v) + w * turned) + (2.0 * w * w - 1.0) * numpy.identity(3)

    def getConjugate(self) -> Quat:
        """The rotation back, for a quaternion of length 1."""
        return Quat(-self[0], -self[1], -self[2], self[3])

    def getInverse(self) -> Quat:
        """The rotation back."""
        return Quat(self.getConjugate() / self.getNorm() ** 2)

    def toString(self) -> str:
        """Its numbers with spaces between them, as Data take them."""
        return " ".join(str(number) for number in self.tolist())

    # -- how to make one -----------------------------------------------------------------------

    @staticmethod
    def createFromVectors(v1: Any, v2: Any) -> Quat:
        """The shortest rotation of the direction of v2 into that of v1."""
        v1, v2 = numpy.asarray(v1, float), numpy.asarray(v2, float)
        lengths = float(numpy.linalg.norm(v1) * numpy.linalg.norm(v2))
        return Quat(*numpy.cross(v2, v1), lengths + float(v1 @ v2)).normalize()

    @staticmethod
    def createFromAxisAngle(axis: Sequence[float], angle: float) -> Quat:
        """The rotation by an angle [rad] about an axis of length 1."""
        sine = math.sin(angle / 2.0)
        x, y, z = axis[0] * sine, axis[1] * sine, axis[2] * sine
        return Quat(x, y, z, math.cos(angle / 2.0)).normalize()

    @staticmethod
    def createFromEuler(v: Sequence[float], axes: str = "sxyz", inDegree: bool = False) -> Quat:
        """The rotation by three angles, one axis after the other.

        Args:
            v: Angles [rad].
            axes: 's' and three of x, y, z for axes that stay, 'r' for axes that turn with the body.
            inDegree: The angles are in degrees.
        """
        first, odd, again, turning = _code(axes)
        second = (first + 1 + odd) % 3
        last = first if again else 3 - first - second
        angles = [float(angle) * (pi / 180.0 if inDegree else 1.0) for angle in v]
        q = Quat()
        # Axes that turn with the body, in reverse, are axes that stay.
        for axis, angle in zip(
            (first, second, last), angles[::-1] if turning else angles, strict=True
        ):
            q = Quat.product(Quat.createFromAxisAngle(numpy.identity(3)[axis], angle), q)
        return q

    @staticmethod
    def product(qa: Quat, qb: Quat) -> Quat:
        """The rotation by qb, then by qa."""
        va, vb, wa, wb = qa.getIm(), qb.getIm(), qa.getRe(), qb.getRe()
        return Quat(*(wa * vb + wb * va + numpy.cross(va, vb)), wa * wb - float(va @ vb))


def _code(axes: Any) -> tuple[int, int, int, int]:
    """The entry of AXES_TO_TUPLE for a name or for an entry itself."""
    code = AXES_TO_TUPLE.get(axes.lower()) if isinstance(axes, str) else tuple(axes)
    if code not in TUPLE_TO_AXES:
        raise KeyError(f"There are no axes '{axes}'; there are: {', '.join(AXES_TO_TUPLE)}.")
    return code  # type: ignore[return-value]
