"""Pose error of a set of points: position, angle and shape."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LINE = 1e-3
"""Points whose second extent is smaller than this share of the first lie on a line [-]."""


class PoseError(NamedTuple):
    """Errors of a set of controlled points at one moment."""

    position: float
    """Distance of the mean of the points to the mean of their goals [length]."""
    angle: float
    """Angle of the rotation that best takes the goals onto the points, about any axis [degree].
    NaN: there are fewer than three points, or they lie on a line."""
    point: float
    """Largest distance of a point to its goal, which counts a wrong shape too [length]."""


def pose_error(points: np.ndarray, goals: np.ndarray) -> PoseError:
    """Errors of points against their goals, both of shape (n, 3)."""
    offset = points.mean(axis=0) - goals.mean(axis=0)
    return PoseError(
        position=float(np.linalg.norm(offset)),
        angle=float(np.degrees(np.linalg.norm(rotation_between(goals, points)))),
        point=float(np.linalg.norm(points - goals, axis=1).max()),
    )


def rotation_between(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Rotation vector of the rigid rotation that best takes one set of points onto another.

    Args:
        before: Shape (n, 3).
        after: The same points moved, shape (n, 3).

    Returns:
        Axis times angle [rad], shape (3,); NaN where the points do not determine it.

    Source: Kabsch 1976; the sign of the determinant after Umeyama 1991.
    """
    a, b = before - before.mean(axis=0), after - after.mean(axis=0)
    extent = np.linalg.svd(a, compute_uv=False)
    if len(extent) < 2 or not extent[1] > LINE * extent[0]:
        return np.full(3, np.nan)
    U, _, Vt = np.linalg.svd(b.T @ a)
    R = (U * [1.0, 1.0, np.sign(np.linalg.det(U @ Vt))]) @ Vt
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])  # 2 sin(angle) axis
    sine, cosine = np.linalg.norm(axis) / 2.0, (np.trace(R) - 1.0) / 2.0
    if sine > 1e-6 or cosine > 0.0:
        return axis / 2.0 * (np.arctan2(sine, cosine) / max(sine, 1e-300))
    S = (R + np.eye(3)) / 2.0  # half a turn: axis times its transpose
    column: np.ndarray = S[:, np.argmax(np.diag(S))]
    return np.pi * column / np.linalg.norm(column)


def angle_about(before: np.ndarray, after: np.ndarray, axis: np.ndarray) -> float:
    """Turn about a given axis that best takes one set of points onto another [degree].

    It sees nothing of a tilt about another axis: for comparison with sources that measure so.

    Args:
        before: Shape (n, 3).
        after: The same points moved, shape (n, 3).
        axis: Unit vector, shape (3,).
    """
    a, b = before - before.mean(axis=0), after - after.mean(axis=0)
    a, b = (x - np.outer(x @ axis, axis) for x in (a, b))
    return float(np.degrees(np.arctan2(np.cross(a, b).sum(axis=0) @ axis, (a * b).sum())))
