"""Frames of contacts: the normal and two tangents."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit


@njit
def contact_frames(normal: np.ndarray) -> np.ndarray:
    """Return normal and two tangents of each contact, shape (p, 3, 3), as SOFA chooses them.

    Args:
        normal: Unit normals, shape (p, 3).
    """
    out = np.empty((len(normal), 3, 3))
    for k in range(len(normal)):
        x, y, z = normal[k, 0], normal[k, 1], normal[k, 2]
        a, b, c = y * y - z * x, z * z - x * y, x * x - y * z  # normal times (z, x, y)
        size = np.sqrt(a * a + b * b + c * c)
        if size < 1e-9:  # (1, 1, 1): any other direction works
            a, b, c = 0.0, z, -y
            size = np.sqrt(b * b + c * c)
        a, b, c = a / size, b / size, c / size
        out[k, 0, 0], out[k, 0, 1], out[k, 0, 2] = x, y, z
        out[k, 1, 0], out[k, 1, 1], out[k, 1, 2] = z * b - y * c, x * c - z * a, y * a - x * b
        out[k, 2, 0], out[k, 2, 1], out[k, 2, 2] = a, b, c
    return out
