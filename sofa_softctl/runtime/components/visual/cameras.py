"""Cameras: nothing is drawn, but scripts read their positions and views."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from sofa_softctl.runtime.components.visual.inert import Inert
from sofa_softctl.runtime.core.data.types import Bool, Choice, Int, Real, UInt, Vector, Vectors
from sofa_softctl.runtime.kernels.mapping import rigid


class BaseCamera(Inert):
    """A camera of a GUI; two of position, orientation and lookAt determine the third."""

    position = Vector(3, [0.0, 0.0, 0.0], "Position.", unit="length")
    orientation = Vector(4, [0.0, 0.0, 0.0, 1.0], "Quaternion; the camera looks along -z.")
    lookAt = Vector(3, [0.0, 0.0, 0.0], "Point in the middle of the view.", unit="length")
    distance = Real(0.0, "Distance to lookAt.", unit="length")
    fieldOfView = Real(45.0, "Angle of view from bottom to top.", unit="degree")
    zNear = Real(0.01, "Nearest distance drawn.", unit="length")
    zFar = Real(100.0, "Farthest distance drawn.", unit="length")
    computeZClip = Bool(True, "Unused: take these distances from what is drawn.")
    minBBox = Vector(3, [0.0, 0.0, 0.0], "Smallest corner of what is drawn.", unit="length")
    maxBBox = Vector(3, [1.0, 1.0, 1.0], "Largest corner of what is drawn.", unit="length")
    widthViewport = UInt(800, "Width of the picture in pixels.", aliases=("viewportWidth",))
    heightViewport = UInt(600, "Height of the picture in pixels.", aliases=("viewportHeight",))
    projectionType = Choice(
        "Perspective", "Projection.", choices=("Perspective", "Orthographic"), aliases=("type",)
    )
    activated = Bool(True, "Unused.")
    fixedLookAt = Bool(False, "Unused: keep looking at the same point.")
    modelViewMatrix = Vector(16, np.eye(4).ravel().tolist(), "Unused.")
    projectionMatrix = Vector(16, np.eye(4).ravel().tolist(), "Unused.")

    def init(self) -> None:
        """Compute the one of position, orientation and lookAt that is missing."""
        names = {name for name in ("position", "orientation", "lookAt") if self._data[name].isSet()}
        position, target = self.position.get(), self.lookAt.get()
        if names == {"position", "lookAt"}:
            self.distance.set(float(np.linalg.norm(target - position)))
            self.orientation.set(_orientation_towards(position, target))
        elif names == {"position", "orientation"}:
            self.lookAt.set(self._point_ahead(position))
        elif names == {"lookAt", "orientation"}:
            self.position.set(2.0 * target - self._point_ahead(target))

    def bwdInit(self) -> None:
        """Look at the whole scene if less than two of the three are set."""
        names = ("position", "orientation", "lookAt")
        if sum(self._data[name].isSet() for name in names) < 2:
            self._set_default_view()

    def _point_ahead(self, position: np.ndarray) -> np.ndarray:
        """Return the point at `distance` before a camera at `position`."""
        offset = np.array([[0.0, 0.0, -self.distance.get()]])
        return position + rigid.rotate_vectors(self.orientation.get()[None, :], offset)[0]

    def _set_default_view(self) -> None:
        """Look at the whole scene, upright against gravity, from three times its radius."""
        assert self._context is not None
        low, high = self._context.getRoot().bbox.get()
        if (low > high).any():
            low, high = self.minBBox.get(), self.maxBBox.get()
        center = (low + high) / 2.0
        up = -self._context.gravity.get()
        up = up / np.linalg.norm(up) if up.any() else np.array([0.0, 1.0, 0.0])
        right = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.999 else np.array([0.0, 1.0, 0.0])
        back = np.cross(right, up)
        back /= np.linalg.norm(back)
        axes = np.stack([np.cross(up, back), up, back], axis=1)
        self.lookAt.set(center)
        self.orientation.set(Rotation.from_matrix(axes).as_quat())
        self.distance.set(3.0 * float(np.linalg.norm(low - center)))
        self.position.set(center + back * self.distance.get())

    def reinit(self) -> None:
        """Look at `lookAt` again."""
        self.orientation.set(_orientation_towards(self.position.get(), self.lookAt.get()))

    # -- SofaPython3's Sofa.Core.Camera ----------------------------------------------------------

    def rotate(self, turn: Any) -> None:
        """Rotate the camera by a quaternion in its axes."""
        q = rigid.product(self.orientation.get()[None, :], np.array([turn], dtype=float))[0]
        self.orientation.set(q / np.linalg.norm(q))

    def setView(self, position: Any, orientation: Any) -> None:
        """Set position and orientation."""
        self.position.value, self.orientation.value = position, orientation

    def setDefaultView(self, gravity: Any = None) -> None:
        """Look at the whole scene."""
        self._set_default_view()

    def getLookAtFromOrientation(self, position: Any, distance: float, turn: Any) -> list[float]:
        """Return the point that a camera sees at a distance."""
        forward = np.array([[0.0, 0.0, -distance]])
        offset = rigid.rotate_vectors(np.array([turn], dtype=float), forward)[0]
        return (np.asarray(position, dtype=float) + offset).tolist()

    def getOrientationFromLookAt(self, position: Any, target: Any) -> list[float]:
        """Return the quaternion of an upright camera that looks at a point."""
        return _orientation_towards(np.asarray(position, float), np.asarray(target, float)).tolist()


def _orientation_towards(position: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the quaternion of a camera that looks at a target, with y upward."""
    back = position - target
    length = np.linalg.norm(back)
    back = back / length if length else np.array([0.0, 0.0, 1.0])
    right = np.cross([0.0, 1.0, 0.0], back)
    length = np.linalg.norm(right)
    right = right / length if length**2 >= 1e-5 else np.array([1.0, 0.0, 0.0])
    axes = np.stack([right, np.cross(back, right), back], axis=1)
    return Rotation.from_matrix(axes).as_quat()


class Camera(BaseCamera):
    """A camera that a script moves."""


class InteractiveCamera(BaseCamera):
    """A camera that the mouse moves."""

    zoomSpeed = Real(250.0, "Unused.")
    panSpeed = Real(0.1, "Unused.")
    pivot = Int(2, "Unused: what the mouse turns it about.")


class RecordedCamera(BaseCamera):
    """A camera that moves along a path in SOFA's GUI, and not at all here."""

    zoomSpeed = Real(250.0, "Unused.")
    panSpeed = Real(0.1, "Unused.")
    pivot = Int(0, "Unused: what the mouse turns it about.")
    startTime = Real(0.0, "Unused: start of the motion.", unit="time")
    endTime = Real(200.0, "Unused: end of the motion.", unit="time")
    rotationMode = Bool(False, "Unused: turn around the scene.")
    translationMode = Bool(False, "Unused: move along a line.")
    navigationMode = Bool(False, "Unused: move along `cameraPositions`.")
    rotationSpeed = Real(0.1, "Unused.")
    rotationCenter = Vector(3, [0.0, 0.0, 0.0], "Unused.", unit="length")
    rotationStartPoint = Vector(3, [0.0, 0.0, 0.0], "Unused.", unit="length")
    rotationLookAt = Vector(3, [0.0, 0.0, 0.0], "Unused.", unit="length")
    rotationAxis = Vector(3, [0.0, 1.0, 0.0], "Unused.")
    cameraUp = Vector(3, [0.0, 0.0, 0.0], "Unused.")
    drawRotation = Bool(False, "Unused.")
    drawTranslation = Bool(False, "Unused.")
    cameraPositions = Vectors(3, [], "Unused.", unit="length")
    cameraOrientations = Vectors(4, [], "Unused.")
