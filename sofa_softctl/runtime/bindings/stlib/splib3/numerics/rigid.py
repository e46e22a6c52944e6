"""A body of a MechanicalObject of rigid bodies, as position and orientation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from splib3.numerics.quat import Quat

Numbers = Sequence[float]
_FIELDS = {
    "position": "position",
    "rest_position": "rest_position",
    "orientation": "position",
    "rest_orientation": "rest_position",
}
"""Data that contains each part."""


class RigidDof:
    """The first body of a MechanicalObject of template Rigid3.

    `position`, `orientation`, `rest_position` and `rest_orientation` are read and set like Data,
    and so is every other Data of the MechanicalObject.
    """

    def __init__(self, rigidobject: Any) -> None:
        self.rigidobject = rigidobject

    def getPosition(self, index: int = 0, field: str = "position") -> numpy.ndarray:
        """Return the position of a body."""
        return numpy.array(self._rows(field)[index][:3])

    def setPosition(self, v: Numbers, index: int = 0, field: str = "position") -> None:
        """Set the position of a body."""
        self._set(field, index, slice(0, 3), v)

    def getOrientation(self, field: str = "position") -> numpy.ndarray:
        """Return its orientation, a quaternion."""
        return numpy.array(self._rows(field)[0][3:])

    def setOrientation(self, q: Numbers, field: str = "position") -> None:
        """Set its orientation, a quaternion."""
        self._set(field, 0, slice(3, 7), q)

    def getLeft(self, field: str = "position") -> numpy.ndarray:
        """Return its x axis."""
        return Quat(self.getOrientation(field)).getMatrix()[:, 0]

    def getUp(self, field: str = "position") -> numpy.ndarray:
        """Return its y axis."""
        return Quat(self.getOrientation(field)).getMatrix()[:, 1]

    def getForward(self, field: str = "position") -> numpy.ndarray:
        """Return its z axis."""
        return Quat(self.getOrientation(field)).getMatrix()[:, 2]

    left = property(getLeft)
    up = property(getUp)
    forward = property(getForward)

    def copyFrom(self, t: RigidDof, field: str = "position") -> None:
        """Copy all bodies of another MechanicalObject."""
        self.rigidobject.getData(field).value = t.rigidobject.getData(field).value

    def translate(self, v: Numbers, field: str = "position") -> None:
        """Move it."""
        self.setPosition(self.getPosition(0, field) + numpy.asarray(v), 0, field)

    def rotateAround(self, axis: Numbers, angle: float, field: str = "position") -> None:
        """Rotate it by an angle [rad] about an axis of the world through its position."""
        turn = Quat.createFromAxisAngle(axis, angle)
        self.setOrientation(Quat.product(turn, Quat(self.getOrientation(field))), field)

    def _rows(self, field: str) -> Any:
        return self.rigidobject.getData(field).value

    def _set(self, field: str, index: int, columns: slice, value: Numbers) -> None:
        rows = numpy.array(self._rows(field))
        rows[index, columns] = value
        self.rigidobject.getData(field).value = rows.tolist()

    def __getattr__(self, key: str) -> Any:
        if key.startswith("_") or key == "rigidobject":  # while it is unpickled
            raise AttributeError(key)
        if key in _FIELDS:
            get = self.getPosition if key.endswith("position") else self.getOrientation
            return get(field=_FIELDS[key])
        return self.rigidobject.getData(key).value

    def __setattr__(self, key: str, value: Any) -> None:
        if key == "rigidobject":
            self.__dict__[key] = value
        elif key in _FIELDS:
            put = self.setPosition if key.endswith("position") else self.setOrientation
            put(value, field=_FIELDS[key])
        else:
            self.rigidobject.getData(key).value = list(value)
