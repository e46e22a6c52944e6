"""Triangles and lines before a camera."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Triangles(NamedTuple):
    """Triangles in axes of the camera: right, up, and distance from it."""

    corners: np.ndarray
    """Shape (n, 3, 3)."""
    colors: np.ndarray
    """Color of each corner, shape (n, 3, 3)."""
    opacity: float
    """Opacity of all [-]."""
    lead: float = 0.0
    """Distance by which they are painted as if they were nearer [length]."""


class Lines(NamedTuple):
    """Lines in axes of the camera."""

    ends: np.ndarray
    """Shape (m, 2, 3)."""
    color: np.ndarray
    """Shape (3,)."""
    width: float
    """Width [pixel]."""
    is_tube: bool
    """Shaded as round."""


def clip(triangles: Triangles, distance_min: float) -> Triangles:
    """Return the parts of triangles that are farther from the camera than a distance."""
    is_behind = triangles.corners[..., 2] < distance_min
    if not is_behind.any():
        return triangles
    corners, colors = [], []
    crossing = is_behind.any(axis=1)
    for corner, color in zip(triangles.corners[crossing], triangles.colors[crossing], strict=True):
        polygon = []  # corners with their colors, in turn
        points = np.hstack([corner, color])  # (3, 6)
        for a, b in zip(points, np.roll(points, -1, axis=0), strict=True):
            if a[2] >= distance_min:
                polygon.append(a)
            if (a[2] >= distance_min) != (b[2] >= distance_min):
                polygon.append(a + (distance_min - a[2]) / (b[2] - a[2]) * (b - a))
        for k in range(1, len(polygon) - 1):
            fan = np.array([polygon[0], polygon[k], polygon[k + 1]])
            corners.append(fan[:, :3])
            colors.append(fan[:, 3:])
    return Triangles(
        np.concatenate([triangles.corners[~crossing], np.array(corners).reshape(-1, 3, 3)]),
        np.concatenate([triangles.colors[~crossing], np.array(colors).reshape(-1, 3, 3)]),
        triangles.opacity,
    )


def has_length(ends: np.ndarray) -> np.ndarray:
    """Return which lines (..., 2, 3) have two ends."""
    return (ends[..., 0, :] != ends[..., 1, :]).any(axis=-1)
