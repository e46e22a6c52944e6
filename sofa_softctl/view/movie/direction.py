"""Direction from which a movie is seen: a view of the user, or one that sees the motion."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sofa_softctl.view.movie.animation import Animation

PLANE, LINE = 30.0, 30.0
"""Least angle between the line of sight and a plane of motion, or a line of motion [degree]."""
FLAT = 0.05
"""Variance of motion by that of the next larger direction, below which there is none."""


class View(NamedTuple):
    """Where the camera stands, as seen from the middle of the picture."""

    azimuth: float
    """From the front towards the right, about the direction against gravity [degree]."""
    elevation: float
    """Above the horizontal plane [degree]."""


VIEWS = {
    "front": View(0.0, 0.0),
    "right": View(90.0, 0.0),
    "back": View(180.0, 0.0),
    "left": View(-90.0, 0.0),
    "top": View(0.0, 90.0),
    "bottom": View(0.0, -90.0),
}
"""Views with a name. From the front, the scene's x axis points to the right; where it is vertical,
the y axis."""


def parse_view(text: str) -> View:
    """The view of a name, or of two numbers 'AZIMUTH,ELEVATION' in degrees.

    Raises:
        ValueError: There is no such view.
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


def direction_of(animation: Animation, view: View | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Towards the camera, and up in the picture, of length 1, shapes (3,).

    Args:
        animation: What is shown.
        view: The view; None: one that sees the motion, see `sees_motion`.
    """
    up = animation.up / np.linalg.norm(animation.up)
    if view is None:
        return sees_motion(_three_quarters(animation, up), animation), up
    right = np.eye(3)[0] if abs(up[0]) < 0.9 else np.eye(3)[1]
    right = right - (right @ up) * up
    right /= np.linalg.norm(right)
    azimuth, elevation = np.radians(view)
    level = np.cos(azimuth) * np.cross(right, up) + np.sin(azimuth) * right
    direction = np.cos(elevation) * level + np.sin(elevation) * up
    return direction, np.cos(elevation) * up - np.sin(elevation) * level


def _three_quarters(animation: Animation, up: np.ndarray) -> np.ndarray:
    """Three quarters from the front, a little from above.

    The front is where the markers are: of the two ends of the longest extent across `up`, and from
    below where they are at the lower end of something that hangs, which would hide them.
    """
    low, high = animation.bounds()
    forward = np.zeros(3)
    forward[int(np.argmax((high - low) * (1.0 - np.abs(up))))] = 1.0
    forward -= (forward @ up) * up
    forward /= np.linalg.norm(forward)
    places = [marker.positions.mean(axis=0) for marker in animation.markers] or [(low + high) / 2.0]
    offset = np.mean(places, axis=0) - (low + high) / 2.0
    room = 0.2 * np.linalg.norm(high - low)
    if offset @ forward < -1e-6 * room:
        forward = -forward
    rise = -0.2 if offset @ up < -room and not _clear_below(animation, up) else 0.4
    direction = 0.75 * np.cross(up, forward) + 0.55 * forward + rise * up
    return direction / np.linalg.norm(direction)


def _clear_below(animation: Animation, up: np.ndarray) -> bool:
    """Whether all markers stay below all bodies by a tenth of the bodies' height."""
    bodies = [body.positions @ up for body in animation.bodies if not body.obstacle]
    if not bodies or not animation.markers:
        return False
    lowest, highest = (float(f([f(one) for one in bodies])) for f in (np.min, np.max))
    marked = max(float((marker.positions @ up).max()) for marker in animation.markers)
    return marked < lowest - 0.1 * (highest - lowest)


def sees_motion(direction: np.ndarray, animation: Animation) -> np.ndarray:
    """A direction, turned as little as it takes to see the motion of the markers, or the bodies.

    Motion in a plane is seen from at least `PLANE` above it, motion along a line from at least
    `LINE` beside it. Motion in space is seen from anywhere.
    """
    variance, axes = np.linalg.eigh(_scatter(animation))  # ascending; columns
    if not variance[2] > 0.0:
        return direction
    if variance[1] < FLAT * variance[2]:
        return _turned(direction, axes[:, 2], 0.0, math.cos(math.radians(LINE)))
    if variance[0] < FLAT * variance[1]:
        return _turned(direction, axes[:, 0], math.sin(math.radians(PLANE)), 1.0)
    return direction


def _scatter(animation: Animation) -> np.ndarray:
    """Summed squares of how far points are from where they are in the mean [length^2], (3, 3)."""
    paths = [marker.positions[:, None] for marker in animation.markers]
    robots = [body.positions for body in animation.bodies if not body.obstacle]
    moved = [path - path.mean(axis=0) for path in paths or robots]
    return sum(
        (np.einsum("fni,fnj->ij", one, one, dtype=float) for one in moved), start=np.zeros((3, 3))
    )


def _turned(direction: np.ndarray, axis: np.ndarray, least: float, most: float) -> np.ndarray:
    """The nearest direction whose component along an axis is from `least` to `most` in size."""
    along = float(direction @ axis)
    wanted = math.copysign(min(max(abs(along), least), most), along)
    across = direction - along * axis
    size = float(np.linalg.norm(across))
    if wanted == along or not size > 0.0:
        return direction
    return wanted * axis + math.sqrt(1.0 - wanted**2) / size * across
