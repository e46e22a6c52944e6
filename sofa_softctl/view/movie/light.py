"""Light on bodies: a key light above the camera, and weaker ones from all sides."""

from __future__ import annotations

import numpy as np

AMBIENT = 0.34
"""Light without direction, part of a body's color [-]."""
DIRECTIONS = np.array(
    [
        (0.112, 0.766, 0.633),  # key: 50 degrees above the camera, 10 to its right
        (0.0, -0.966, 0.259),  # from below
        (0.0, 0.0, 1.0),  # from the camera
        (0.940, 0.0, -0.342),  # from behind, right
        (-0.940, 0.0, -0.342),  # and left
    ]
)
"""Unit vectors towards each light, in axes of the camera: right, up, towards it."""
INTENSITIES = 0.75 * np.array([1.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.5, 1.0 / 3.5])
"""Intensity of each light [-]."""
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
