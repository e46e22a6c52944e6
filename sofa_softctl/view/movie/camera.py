"""Camera pose that fits the whole motion into the picture."""

from __future__ import annotations

import numpy as np

from sofa_softctl.view.movie.animation import Animation

VIEW_ANGLE = 25.0
"""Of the camera, over the picture's height [degree]."""
MARGIN = 1.12
"""Room around what is shown."""


def framing(
    cloud: np.ndarray, direction: np.ndarray, up: np.ndarray, aspect: float
) -> tuple[np.ndarray, np.ndarray]:
    """Place of the camera and what it looks at, so that all points just fit in the picture.

    Args:
        cloud: Points [length], shape (n, 3).
        direction: Towards the camera, of length 1, shape (3,).
        up: Direction that is up in the picture, shape (3,).
        aspect: Width of the picture by its height.
    """
    right = np.cross(up, direction) / np.linalg.norm(np.cross(up, direction))
    above = np.cross(direction, right)
    axes = np.stack([right, above, direction])
    half = np.tan(np.radians(VIEW_ANGLE / 2.0)) / MARGIN
    focus, distance = cloud.mean(axis=0), 0.0
    for _ in range(8):  # in perspective the middle depends on the distance; two or three would do
        x, y, depth = axes @ (cloud - focus).T  # (n,) each
        distance = float((np.maximum(np.abs(x) / aspect, np.abs(y)) / half + depth).max()) or 1.0
        slopes = np.stack([x, y]) / (distance - depth)  # (2, n)
        middle = (slopes.min(axis=1) + slopes.max(axis=1)) / 2.0
        focus = focus + distance * (middle @ axes[:2])
    return focus + distance * direction, focus


def cloud_of(animation: Animation) -> np.ndarray:
    """Points that the picture must hold; of bodies, those of about fifty frames, (n, 3)."""
    robots = [body for body in animation.bodies if not body.obstacle] or animation.bodies
    return np.concatenate(
        [body.positions[:: 1 + len(body.positions) // 50].reshape(-1, 3) for body in robots]
        + [line.points.reshape(-1, 3) for line in animation.lines]
        + [marker.positions for marker in animation.markers]
    )
