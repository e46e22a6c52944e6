"""Points in a camera's frame, with derivatives by a correction of that frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.identification.fem.registration import Registration


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
        turned = self.turn(points)
        jacobian = left_jacobian(self.correction[:3])
        found = np.empty((*turned.shape, 6))
        # d(R y) = omega cross R y, omega = J dtheta
        found[..., :3] = np.cross(jacobian.T[:, :], turned[..., None, :]).swapaxes(-1, -2)
        found[..., 3:] = np.eye(3)
        return found


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
