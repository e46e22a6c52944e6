"""Direction from which a movie is seen: a view of the user, or one that sees the motion."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sofa_softctl.view.movie.animation import Animation

PLANE, LINE = 30.0, 30.0
"""Smallest angle of the line of sight to a plane, or a line, of motion [degree]."""


class View(NamedTuple):
    """Direction from the middle of the picture to the camera."""

    azimuth: float
    """Angle from the front to the right about the direction against gravity [degree]."""
    elevation: float
    """Angle above the horizontal plane [degree]."""


VIEWS = {
    "front": View(0.0, 0.0),
    "right": View(90.0, 0.0),
    "back": View(180.0, 0.0),
    "left": View(-90.0, 0.0),
    "top": View(0.0, 90.0),
    "bottom": View(0.0, -90.0),
}
"""Named views. From the front, the scene's x axis points to the right, or y if x is vertical."""


def parse_view(text: str) -> View:
    """Return the view of a name, or of two numbers 'AZIMUTH,ELEVATION' in degrees.

    Raises:
        ValueError: The text is not a view.
    """
    if text in VIEWS:
        return VIEWS[text]
    try:
        azimuth, elevation = (float(part) for part in text.split(","))
    except ValueError:
        azimuth = elevation = math.nan
    if not (math.isfinite(azimuth) and abs(elevation) <= 90.0):
        raise ValueError(
            f"expected auto, {', '.join(VIEWS)}, or AZIMUTH,ELEVATION in degrees, the elevation "
            f"from -90 to 90, such as 30,20; got '{text}'."
        )
    return View(azimuth, elevation)


def view_from(direction: np.ndarray, up: np.ndarray) -> View:
    """Return the view from a direction towards the camera, the inverse of `direction_of`.

    Args:
        direction: Vector from the robot to the camera, shape (3,).
        up: Direction against gravity, shape (3,).
    """
    up = up / np.linalg.norm(up)
    right = _right(up)
    direction = direction / np.linalg.norm(direction)
    azimuth = np.arctan2(direction @ right, direction @ np.cross(right, up))
    elevation = np.arcsin(np.clip(direction @ up, -1.0, 1.0))
    return View(float(np.degrees(azimuth)), float(np.degrees(elevation)))


def _right(up: np.ndarray) -> np.ndarray:
    """Return the direction to the right from the front: x, or y if x is vertical."""
    right = np.eye(3)[0] if abs(up[0]) < 0.9 else np.eye(3)[1]
    right = right - (right @ up) * up
    return right / np.linalg.norm(right)


def direction_of(animation: Animation, view: View | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the unit vectors towards the camera and up in the picture, shapes (3,).

    Args:
        animation: Contents of the movie.
        view: View of the user, or None for one that shows the motion (`sees_motion`).
    """
    up = animation.up / np.linalg.norm(animation.up)
    if view is None:
        return direction_to_see_motion(_three_quarters(animation, up), animation), up
    right = _right(up)
    azimuth, elevation = np.radians(view)
    level = np.cos(azimuth) * np.cross(right, up) + np.sin(azimuth) * right
    direction = np.cos(elevation) * level + np.sin(elevation) * up
    return direction, np.cos(elevation) * up - np.sin(elevation) * level


def _three_quarters(animation: Animation, up: np.ndarray) -> np.ndarray:
    """Return a direction three quarters from the front, slightly from above.

    The front is the end of the longest extent across `up` that is nearer to the markers. Markers at
    the lower end of a hanging body, which would hide them, are seen from below.
    """
    low, high = animation.bounds()
    forward = np.zeros(3)
    forward[int(np.argmax((high - low) * (1.0 - np.abs(up))))] = 1.0
    forward -= (forward @ up) * up
    forward /= np.linalg.norm(forward)
    middle = (low + high) / 2.0
    centres = [marker.positions.mean(axis=0) for marker in animation.markers] or [middle]
    offset = np.mean(centres, axis=0) - middle
    room = 0.2 * np.linalg.norm(high - low)
    if offset @ forward < -1e-6 * room:
        forward = -forward
    rise = -0.2 if offset @ up < -room and not _clear_below(animation, up) else 0.4
    direction = 0.75 * np.cross(up, forward) + 0.55 * forward + rise * up
    return direction / np.linalg.norm(direction)


def _clear_below(animation: Animation, up: np.ndarray) -> bool:
    """Return True if all markers stay below all bodies by a tenth of the bodies' height."""
    heights = [body.positions @ up for body in animation.bodies if not body.obstacle]
    if not heights or not animation.markers:
        return False
    lowest, highest = (float(f([f(height) for height in heights])) for f in (np.min, np.max))
    highest_marker = max(float((marker.positions @ up).max()) for marker in animation.markers)
    return highest_marker < lowest - 0.1 * (highest - lowest)


def direction_to_see_motion(direction: np.ndarray, animation: Animation) -> np.ndarray:
    """Return the direction nearest to `direction` that shows the motion of markers, or bodies.

    Motion in a plane is seen from at least `PLANE` above it, motion along a line at an angle of at
    least `LINE`. Motion in space is seen from any direction.
    """
    planar_ratio = 0.05  # a variance below this fraction of the next larger one counts as zero
    variance, axes = np.linalg.eigh(_scatter(animation))  # ascending; columns
    if not variance[2] > 0.0:
        return direction
    if variance[1] < planar_ratio * variance[2]:
        return _clamp_along(direction, axes[:, 2], 0.0, math.cos(math.radians(LINE)))
    if variance[0] < planar_ratio * variance[1]:
        return _clamp_along(direction, axes[:, 0], math.sin(math.radians(PLANE)), 1.0)
    return direction


def _scatter(animation: Animation) -> np.ndarray:
    """Return the scatter matrix of points about their mean positions [length^2], (3, 3)."""
    paths = [marker.positions[:, None] for marker in animation.markers]
    robots = [body.positions for body in animation.bodies if not body.obstacle]
    offsets = [path - path.mean(axis=0) for path in paths or robots]
    return sum(
        (np.einsum("fni,fnj->ij", d, d, dtype=float) for d in offsets), start=np.zeros((3, 3))
    )


def _clamp_along(direction: np.ndarray, axis: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return the nearest direction whose component along an axis is within `low` and `high`."""
    along = float(direction @ axis)
    target = math.copysign(min(max(abs(along), low), high), along)
    across = direction - along * axis
    size = float(np.linalg.norm(across))
    if target == along or not size > 0.0:
        return direction
    return target * axis + math.sqrt(1.0 - target**2) / size * across
