"""Rotations of SOFA's `rotation`: about x, then y, then z, equal to SOFA's to the last bit."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def quaternion_zyx(degrees: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the quaternion x y z w of Rz Ry Rx, from three angles [degrees], shape (4,)."""
    halves = [float(angle) * math.pi / 180.0 / 2.0 for angle in degrees]
    (cx, cy, cz), (sx, sy, sz) = map(math.cos, halves), map(math.sin, halves)
    return np.array(
        [
            sx * cy * cz - cx * sy * sz,
            cx * sy * cz + sx * cy * sz,
            cx * cy * sz - sx * sy * cz,
            cx * cy * cz + sx * sy * sz,
        ]
    )


def rotation_zyx(degrees: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return Rz Ry Rx of three angles [degrees], through the quaternion as SOFA, shape (3, 3)."""
    x, y, z, w = quaternion_zyx(degrees).tolist()
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (z * x + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (z * z + x * x), 2 * (y * z - x * w)],
            [2 * (z * x - y * w), 2 * (y * z + x * w), 1 - 2 * (y * y + x * x)],
        ]
    )
