"""Angles, and transforms by scale, rotation and translation, in this order."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Any

import numpy
from splib3.numerics.quat import Quat
from splib3.numerics.vec3 import vadd

RigidDofZero = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
"""Rigid body at the origin without rotation."""
Numbers = Sequence[float]


def to_radians(v: Any) -> Any:
    """Convert degrees, a number or a list, to radians."""
    return [to_radians(angle) for angle in v] if isinstance(v, list) else v * pi * 2.0 / 360.0


def to_degrees(v: Any) -> Any:
    """Convert radians, a number or a list, to degrees."""
    return [to_degrees(angle) for angle in v] if isinstance(v, list) else v / pi / 2.0 * 360.0


def TRS_to_matrix(
    translation: Numbers,
    rotation: Numbers | None = None,
    scale: Numbers | None = None,
    eulerRotation: Numbers | None = None,
) -> numpy.ndarray:
    """Return the matrix of a transform, shape (4, 4).

    Args:
        translation: Translation of the origin.
        rotation: Quaternion, or None for no rotation.
        scale: Scales along x, y and z, or None for 1.
        eulerRotation: Angles about x, y and z [degree], instead of the quaternion.
    """
    q = Quat() if rotation is None or eulerRotation is not None else Quat(rotation)
    if eulerRotation is not None:
        q = Quat.createFromEuler(eulerRotation, inDegree=True)
    matrix = numpy.identity(4)
    matrix[:3, :3] = q.getMatrix() * (1.0 if scale is None else numpy.asarray(scale, float))
    matrix[:3, 3] = translation
    return matrix


def transformPosition(point: Numbers, matrixTRS: numpy.ndarray) -> numpy.ndarray:
    """Transform a point by a matrix of TRS_to_matrix."""
    if len(point) != 3 or not all(isinstance(number, int | float) for number in point):
        raise ValueError(f"A point has three numbers x, y and z, got {point}.")
    return numpy.asarray(numpy.matmul(matrixTRS, [*point, 1.0])[:3])


def transformPositions(
    position: Sequence[Numbers],
    translation: Numbers = (0.0, 0.0, 0.0),
    rotation: Numbers = (0.0, 0.0, 0.0, 1.0),
    eulerRotation: Numbers | None = None,
    scale: Numbers = (1.0, 1.0, 1.0),
) -> list[list[float]]:
    """Transform points; see TRS_to_matrix."""
    matrix = TRS_to_matrix(translation, rotation, scale, eulerRotation)
    return [transformPosition(point, matrix).tolist() for point in position]


def getOrientedBoxFromTransform(
    translation: Numbers = (0.0, 0.0, 0.0),
    rotation: Numbers = (0.0, 0.0, 0.0, 1.0),
    eulerRotation: Numbers | None = None,
    scale: Numbers = (1.0, 1.0, 1.0),
) -> list[Any]:
    """Return a box as BoxROI's orientedBox: three corners of its middle plane, and its depth.

    Without a transform it is the cube of side 1 about the origin.
    """
    corners = ([-0.5, 0.0, -0.5], [-0.5, 0.0, 0.5], [0.5, 0.0, 0.5])
    return [*transformPositions(corners, translation, rotation, eulerRotation, scale), scale[1]]


class Transform:
    """Position and orientation, a quaternion or angles about x, y and z [degree]."""

    def __init__(
        self,
        translation: list[float],
        orientation: Numbers | None = None,
        eulerRotation: list[float] | None = None,
    ) -> None:
        self.translation = translation
        self.orientation: Any = [0, 0, 0, 1] if orientation is None else orientation
        if eulerRotation is not None:
            self.orientation = Quat.createFromEuler(to_radians(eulerRotation))

    def translate(self, v: Numbers) -> Transform:
        """Move it."""
        self.translation = vadd(self.translation, v)
        return self

    def toSofaRepr(self) -> list[float]:
        """Return a row of positions of rigid bodies."""
        return [*self.translation, *self.orientation]

    def getForward(self) -> numpy.ndarray:
        """Return its z axis, and a 1."""
        return numpy.append(Quat(self.orientation).getMatrix()[:, 2], 1.0)

    forward = property(getForward)
