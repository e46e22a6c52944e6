"""Points in a camera's frame, with derivatives by a correction of that frame.

Rigid registration of markers to points of the mesh (Kabsch).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sofa_softctl.errors import IdentificationError


@dataclass(frozen=True, eq=False)
class Pose:
    """p = R(theta) R0 x + t0 + tau: a registration with a small rotation and translation.

    theta is a rotation vector about the origin of the mesh: a robot clamped there moves little.
    """

    base: Registration
    """R0 and t0."""
    correction: np.ndarray
    """theta [rad], then tau [length], shape (6,)."""

    @property
    def rotation(self) -> np.ndarray:
        """R(theta) R0, shape (3, 3)."""
        return rotation_of(self.correction[:3]) @ self.base.rotation

    def place(self, points: np.ndarray) -> np.ndarray:
        """Points of the mesh in the camera's frame, shape (..., 3)."""
        placed: np.ndarray = points @ self.rotation.T
        return placed + self.base.translation + self.correction[3:]

    def turn(self, directions: np.ndarray) -> np.ndarray:
        """Directions in the camera's frame, shape (..., 3)."""
        turned: np.ndarray = directions @ self.rotation.T
        return turned

    def turn_back(self, weights: np.ndarray) -> np.ndarray:
        """Derivatives by points of the mesh from those by placed points, shape (..., 3)."""
        turned: np.ndarray = weights @ self.rotation
        return turned

    def by_correction(self, points: np.ndarray) -> np.ndarray:
        """Derivatives of placed points by theta and tau, shape (..., 3, 6)."""
        rotated = self.turn(points)
        jacobian = left_jacobian(self.correction[:3])
        derivatives = np.empty((*rotated.shape, 6))
        # d(R y) = omega cross R y, omega = J dtheta
        derivatives[..., :3] = np.cross(jacobian.T[:, :], rotated[..., None, :]).swapaxes(-1, -2)
        derivatives[..., 3:] = np.eye(3)
        return derivatives


def rotation_of(theta: np.ndarray) -> np.ndarray:
    """Rotation matrix of a rotation vector (Rodrigues), shape (3, 3)."""
    K = cross_matrix(theta)
    angle = float(np.linalg.norm(theta))
    return np.eye(3) + np.sinc(angle / np.pi) * K + _cosine(angle) * K @ K


def left_jacobian(theta: np.ndarray) -> np.ndarray:
    """Left Jacobian of R(theta): omega = J dtheta, shape (3, 3)."""
    K = cross_matrix(theta)
    angle = float(np.linalg.norm(theta))
    third = (
        (1.0 - np.sinc(angle / np.pi)) / angle**2 if angle > 1e-2 else 1.0 / 6.0 - angle**2 / 120
    )
    return np.eye(3) + _cosine(angle) * K + third * K @ K


def cross_matrix(v: np.ndarray) -> np.ndarray:
    """[v] with [v] x = v cross x, shape (3, 3)."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def _cosine(angle: float) -> float:
    """(1 - cos(angle)) / angle^2."""
    half = np.sinc(0.5 * angle / np.pi)
    return 0.5 * float(half * half)


RESIDUAL_RATIO_MAX = 0.05
"""Largest accepted residual of a marker, relative to the size of the marker set [-]."""


@dataclass(frozen=True, eq=False)
class Registration:
    """Rigid transform, marker = rotation point + translation, with its residuals."""

    rotation: np.ndarray
    """Rotation from the mesh's to the markers' frame, shape (3, 3), determinant 1."""
    translation: np.ndarray
    """Translation [length], shape (3,)."""
    residuals: np.ndarray
    """Distance of each marker from its transformed point [length], shape (n,)."""

    @property
    def rms(self) -> float:
        """Root mean square of the residuals [length]."""
        return float(np.sqrt(np.mean(self.residuals**2)))

    def place(self, points: np.ndarray) -> np.ndarray:
        """Return points of the mesh in the markers' frame, shape (n, 3)."""
        placed: np.ndarray = np.asarray(points) @ self.rotation.T + self.translation
        return placed


def register(
    markers: np.ndarray,
    points: np.ndarray,
    *,
    names: Sequence[str] = (),
    tolerance: float | None = None,
) -> Registration:
    """Fit a rigid transform from points of the mesh to measured markers by least squares.

    Args:
        markers: Measured positions, unloaded [length], shape (n, 3), NaN where missing.
        points: Points of the markers on the unloaded mesh [length], shape (n, 3).
        names: Names of the markers, for messages.
        tolerance: Largest accepted residual [length]; by default a twentieth of the size of the
            marker set.

    Raises:
        IdentificationError: Fewer than three markers, all on a line, or markers that do not fit.

    Source: Kabsch 1976; the sign of the determinant after Umeyama 1991.
    """
    markers, points = np.asarray(markers, dtype=float), np.asarray(points, dtype=float)
    if markers.shape != points.shape or markers.ndim != 2 or markers.shape[1] != 3:
        raise IdentificationError(
            f"Registration needs a point of the mesh for each marker, shapes (n, 3); got "
            f"{markers.shape} markers and {points.shape} points."
        )
    is_measured = np.isfinite(markers).all(axis=1)
    if is_measured.sum() < 3:
        raise IdentificationError(
            f"Registration needs three or more measured markers, got {is_measured.sum()}."
        )
    markers_measured, points_measured = markers[is_measured], points[is_measured]
    centred_markers, centred_points = (
        markers_measured - markers_measured.mean(axis=0),
        points_measured - points_measured.mean(axis=0),
    )
    _check_spread(centred_points)
    U, _, Vt = np.linalg.svd(centred_markers.T @ centred_points)
    sign = np.sign(np.linalg.det(U @ Vt))
    rotation = (U * [1.0, 1.0, sign]) @ Vt
    translation = markers_measured.mean(axis=0) - rotation @ points_measured.mean(axis=0)
    placed = points @ rotation.T + translation
    registration = Registration(rotation, translation, np.linalg.norm(markers - placed, axis=1))
    size = float(np.ptp(points_measured, axis=0).max())
    limit = RESIDUAL_RATIO_MAX * size if tolerance is None else tolerance
    if registration.residuals[is_measured].max() > limit:
        raise IdentificationError(
            _misfit_text(registration, is_measured, centred_markers, centred_points, names, limit)
        )
    return registration


def check_handedness(markers: np.ndarray, points: np.ndarray) -> None:
    """Refuse four or more markers that fit the mesh only as its mirror image.

    Args:
        markers: Measured positions [length], shape (n, 3), NaN where missing.
        points: Predicted positions [length], shape (n, 3).

    Raises:
        IdentificationError: Mirrored markers fit, and twice as well.
    """
    is_measured = np.isfinite(markers).all(axis=1) & np.isfinite(points).all(axis=1)
    if is_measured.sum() < 4:
        return
    centred_markers, centred_points = (
        positions[is_measured] - positions[is_measured].mean(axis=0)
        for positions in (markers, points)
    )
    U, _, Vt = np.linalg.svd(centred_markers.T @ centred_points)
    if np.linalg.det(U @ Vt) > 0.0:
        return
    as_is, mirrored = (
        float(
            np.sqrt(
                np.mean(
                    np.sum(
                        (centred_markers - centred_points @ (U * [1, 1, side] @ Vt).T) ** 2, axis=1
                    )
                )
            )
        )
        for side in (-1, 1)
    )
    if mirrored < 0.5 * as_is and mirrored < RESIDUAL_RATIO_MAX * float(
        np.ptp(centred_points, axis=0).max()
    ):
        raise IdentificationError(
            "The markers' axes are left-handed: as they are, all markers fit the model within "
            f"{as_is:.3g} (rms), mirrored within {mirrored:.3g}. Exchange two axes, or change the "
            "sign of one."
        )


def _check_spread(still: np.ndarray) -> None:
    spread = np.linalg.svd(still, compute_uv=False)
    if not spread[1] > 1e-3 * spread[0]:
        raise IdentificationError(
            "Registration needs markers that are not on one line: add one aside, otherwise the "
            "rotation about the line is unknown."
        )


def _misfit_text(
    registration: Registration,
    is_measured: np.ndarray,
    centred_markers: np.ndarray,
    centred_points: np.ndarray,
    names: Sequence[str],
    limit: float,
) -> str:
    """Message on markers that do not fit: units, a swapped marker, or a wrong point."""
    residuals = np.where(is_measured, registration.residuals, 0.0)
    worst = int(residuals.argmax())
    name = f"'{names[worst]}'" if len(names) > worst else f"number {worst + 1}"
    scale = float(np.linalg.norm(centred_markers) / np.linalg.norm(centred_points))
    text = (
        f"The markers do not fit the mesh: after the best rigid transform marker {name} is "
        f"{residuals[worst]:.3g} from its point, {limit:.3g} is accepted."
    )
    if not 0.7 < scale < 1.4:
        return (
            f"{text} Their spread is {scale:.3g} times that of their points: are both in the same "
            "unit of length?"
        )
    return (
        f"{text} Look for swapped or misplaced markers, or a robot that was loaded when they were "
        "measured."
    )
