"""Exact contact test of two ellipsoids, by Perram and Wertheim."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar


def contact_scale(
    axes_one: np.ndarray, axes_two: np.ndarray, rotation: np.ndarray, offset: np.ndarray
) -> float:
    """Return the factor by which both ellipsoids grow about their centres until they touch.

    Args:
        axes_one: Semi-axes of the first, along x, y and z [m], shape (3,).
        axes_two: Semi-axes of the second, along its own frame's axes [m], shape (3,).
        rotation: Rotation of the second's frame in the first's, shape (3, 3).
        offset: Centre of the second in the first's frame [m], shape (3,).

    Returns:
        Above 1: apart; 1: they touch; below 1: they overlap. Relative error below 1e-12.

    Source: Perram, Wertheim 1985, J. Comput. Phys. 58: the square of the factor is the
    maximum over s in (0, 1) of the concave s (1 - s) r^T [(1 - s) A + s B]^-1 r, with A and B the
    inverse shape matrices.
    """
    # In coordinates where the first is the unit sphere, A is the identity and B is diagonal.
    shape = (rotation * np.asarray(axes_two) ** 2) @ rotation.T
    first = np.asarray(axes_one, dtype=float)
    values, vectors = np.linalg.eigh(shape / np.outer(first, first))
    r2 = (vectors.T @ (np.asarray(offset) / first)) ** 2

    def negative(s: float) -> float:
        return -s * (1 - s) * float((r2 / (1 - s + s * values)).sum())

    # the maximum is flat: an error of 1e-8 in s is one of 1e-16 in the value
    minimum = minimize_scalar(negative, bounds=(0, 1), method="bounded", options={"xatol": 1e-9})
    return float(np.sqrt(-minimum.fun))
