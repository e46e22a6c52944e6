"""Camera pose that fits the whole motion into the picture."""

from __future__ import annotations

import numpy as np

from sofa_softctl.view.movie.animation import Animation

VIEW_ANGLE = 25.0
"""Angle that the height of the picture covers [degree]."""
MARGIN = 1.12
"""Size of the picture by the size of its contents [-]."""


def framing(
    cloud: np.ndarray, direction: np.ndarray, up: np.ndarray, aspect: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return position and focal point of the camera for which all points just fit the picture.

    Args:
        cloud: Points [length], shape (n, 3).
        direction: Unit vector towards the camera, shape (3,).
        up: Direction that is up in the picture, shape (3,).
        aspect: Width of the picture by its height.
    """
    right = np.cross(up, direction) / np.linalg.norm(np.cross(up, direction))
    up_axis = np.cross(direction, right)
    axes = np.stack([right, up_axis, direction])
    slope = np.tan(np.radians(VIEW_ANGLE / 2.0)) / MARGIN
    focus, distance = cloud.mean(axis=0), 0.0
    for _ in range(8):  # in perspective the middle depends on the distance; two or three would do
        x, y, depth = axes @ (cloud - focus).T  # (n,) each
        distance = float((np.maximum(np.abs(x) / aspect, np.abs(y)) / slope + depth).max()) or 1.0
        slopes = np.stack([x, y]) / (distance - depth)  # (2, n)
        centre = (slopes.min(axis=1) + slopes.max(axis=1)) / 2.0
        focus = focus + distance * (centre @ axes[:2])
    return focus + distance * direction, focus


def cloud_of(animation: Animation) -> np.ndarray:
    """Return the points that the picture must hold, of bodies in about 50 frames, (n, 3)."""
    robots = [body for body in animation.bodies if not body.obstacle] or animation.bodies
    return np.concatenate(
        [body.positions[:: 1 + len(body.positions) // 50].reshape(-1, 3) for body in robots]
        + [line.points.reshape(-1, 3) for line in animation.lines]
        + [marker.positions for marker in animation.markers]
    )
