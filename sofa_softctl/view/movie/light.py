"""Light on bodies: a key light above the camera, and weaker ones from all sides."""

from __future__ import annotations

import numpy as np

AMBIENT = 0.34
"""Light without direction, part of a body's color [-]."""
_ELEVATION, _AZIMUTH = np.radians([(50.0, 10.0), (-75.0, 0.0), (0.0, 0.0), (0.0, 110.0), (0.0, -110.0)]).T
DIRECTIONS = np.stack(
    [np.cos(_ELEVATION) * np.sin(_AZIMUTH), np.sin(_ELEVATION), np.cos(_ELEVATION) * np.cos(_AZIMUTH)],
    axis=1,
)
"""Towards each light, in axes of the camera: right, up, towards it; shape (5, 3)."""
INTENSITIES = 0.75 * np.array([1.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.5, 1.0 / 3.5])
"""Of the key light, from below, from the camera, and two from behind [-]."""
SHINE_EXPONENT = 20.0


def shade(normals: np.ndarray, color: np.ndarray, shine: float = 0.0) -> np.ndarray:
    """Return the colors of points with unit normals, in axes of the camera, shape (n, 3).

    Args:
        normals: Shape (n, 3).
        color: Color of the body, from 0 to 1, shape (3,).
        shine: Reflection of the key light, from 0 to 1.
    """
    light = AMBIENT + np.maximum(normals @ DIRECTIONS.T, 0.0) @ INTENSITIES  # (n,)
    colors = light[:, None] * color
    if shine:
        key = DIRECTIONS[0]
        mirrored = 2.0 * (normals @ key) * normals[:, 2] - key[2]  # its part towards the camera
        colors += shine * np.maximum(mirrored, 0.0)[:, None] ** SHINE_EXPONENT
    return np.minimum(colors, 1.0)
