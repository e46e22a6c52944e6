"""Poses of link 0 as coordinates: their velocities, and derivatives by complex steps.

A pose is (x, c): position [m] and Cayley's parameters of the orientation, R = cay(c), c = 2 tan of
half the angle times the axis. All functions are rational in these, and accept complex numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

COMPLEX_STEP = 1e-30
"""Imaginary step: derivatives are exact to rounding."""


def rotation(c: np.ndarray) -> np.ndarray:
    """Return R = cay(c), shape (m, 3) -> (m, 3, 3)."""
    W = hat(c)
    scale = 1.0 / (1.0 + 0.25 * (c * c).sum(axis=1))
    return np.eye(3) + scale[:, None, None] * (W + 0.5 * W @ W)


def hat(a: np.ndarray) -> np.ndarray:
    """Return matrices of cross products, shape (m, 3) -> (m, 3, 3)."""
    zero = np.zeros_like(a[:, 0])
    x, y, z = a.T
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(-1, 3, 3)


def velocity(first: np.ndarray, last: np.ndarray, dt: float) -> np.ndarray:
    """Return xi that moves coordinates a = (x, c, q) to others in dt [m/s, rad/s], (m, 6 + n).

    The twist V, in the frame at the start, has cay(dt V) = (R^T R+, R^T (x+ - x)).
    """
    g, g_next = 0.5 * first[:, 3:6], 0.5 * last[:, 3:6]  # Gibbs vectors
    turn = 2.0 * (g_next - g - cross(g, g_next)) / (1.0 + (g * g_next).sum(axis=1))[:, None]
    shift = (np.swapaxes(rotation(first[:, 3:6]), 1, 2) @ (last - first)[:, :3, None])[:, :, 0]
    linear = shift - 0.5 * cross(turn, shift)
    return np.hstack((linear, turn, last[:, 6:] - first[:, 6:])) / dt


def velocity_slopes(
    first: np.ndarray, last: np.ndarray, dt: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return slopes of `velocity` by coordinates at start and end, (m, 6 + n, 6 + n) each."""
    m, d = first.shape
    pose, pose_next = first[:, :6], last[:, :6]
    slopes = np.zeros((2, m, d, d))
    slopes[0, :, :6, :6] = complex_slopes(lambda a, b: velocity(a, b, dt), pose, pose_next)
    slopes[1, :, :6, :6] = complex_slopes(lambda a, b: velocity(b, a, dt), pose_next, pose)
    hinges = np.arange(6, d)
    slopes[0, :, hinges, hinges], slopes[1, :, hinges, hinges] = -1.0 / dt, 1.0 / dt
    return slopes[0], slopes[1]


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return cross products of rows, (m, 3); NumPy's takes six times as long for a few rows."""
    x, y, z = a.T
    u, v, w = b.T
    return np.stack((y * w - z * v, z * u - x * w, x * v - y * u), axis=1)


def complex_slopes(
    function: Callable[..., np.ndarray], at: np.ndarray, *constants: np.ndarray
) -> np.ndarray:
    """Return derivatives of an analytic function by its first argument, shape (m, n, d).

    The function maps arrays of m rows to (m, n); it is called once, with m d rows.
    """
    m, d = at.shape
    stepped = (at + 1j * COMPLEX_STEP * np.eye(d)[:, None]).reshape(d * m, d)
    slopes = (
        function(stepped, *(np.tile(constant, (d, 1)) for constant in constants)).imag
        / COMPLEX_STEP
    )
    return np.ascontiguousarray(slopes.reshape(d, m, -1).transpose(1, 2, 0))
