"""Poses of the links, their Jacobians and the derivatives of these, compiled.

Twists are (linear velocity of the frame's origin, angular velocity), both in the link's own frame.
With s_k the twist of a link for a unit rate of hinge k, d/dq_k of another column X of its Jacobian
is -ad(s_k) X, where hinge k lies farther out than what X moves, and zero elsewhere.
Source: Murray, Li, Sastry 1994, A Mathematical Introduction to Robotic Manipulation, ch. 3.4.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True)
def link_poses(
    parents: np.ndarray, inner: np.ndarray, outer: np.ndarray, axes: np.ndarray, angles: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rotations (n + 1, 3, 3) and positions (n + 1, 3) of the links in the frame of link 0.

    Args:
        parents: Link that carries each hinge; hinge j moves link j + 1, shape (n,).
        inner: Position of each hinge in the parent's frame [m], shape (n, 3).
        outer: Position of each hinge in the moved link's frame [m], shape (n, 3).
        axes: Unit axis of each hinge, in both frames, shape (n, 3).
        angles: Of the hinges [rad], shape (n,).
    """
    n = len(angles)
    R, p = np.zeros((n + 1, 3, 3)), np.zeros((n + 1, 3))
    R[0] = np.eye(3)
    for j in range(n):
        parent = parents[j]
        R[j + 1] = R[parent] @ _turn(axes[j], angles[j])
        p[j + 1] = p[parent] + R[parent] @ inner[j] - R[j + 1] @ outer[j]
    return R, p


@njit(cache=True)
def link_jacobians(
    parents: np.ndarray,
    inner: np.ndarray,
    axes: np.ndarray,
    R: np.ndarray,
    p: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Jacobians and their derivatives by the angles; arguments as for `link_poses`.

    Returns:
        J: Twist of each link for unit (twist of link 0, hinge rates), shape (n + 1, 6, 6 + n).
        dJ: Derivatives, shape (n + 1, 6, 6 + n, n).
    """
    n = len(parents)
    J, dJ = np.zeros((n + 1, 6, 6 + n)), np.zeros((n + 1, 6, 6 + n, n))
    moves = np.zeros((n + 1, n), dtype=np.bool_)
    for b in range(n + 1):
        if b > 0:
            moves[b] = moves[parents[b - 1]]
            moves[b, b - 1] = True
        for i in range(3):
            for m in range(3):
                J[b, m, i] = R[b, i, m]
                J[b, 3 + m, 3 + i] = R[b, i, m]
            J[b, :3, 3 + i] = R[b].T @ _cross(np.eye(3)[i], p[b])
        for j in range(n):
            if moves[b, j]:
                z = R[parents[j]] @ axes[j]
                o = p[parents[j]] + R[parents[j]] @ inner[j]
                J[b, :3, 6 + j] = R[b].T @ _cross(z, p[b] - o)
                J[b, 3:, 6 + j] = R[b].T @ z
        for k in range(n):
            if not moves[b, k]:
                continue
            v, w = J[b, :3, 6 + k], J[b, 3:, 6 + k]
            for c in range(6 + n):
                if c < 6 or (c - 6 < k and moves[b, c - 6]):
                    dJ[b, :3, c, k] = -(_cross(w, J[b, :3, c]) + _cross(v, J[b, 3:, c]))
                    dJ[b, 3:, c, k] = -_cross(w, J[b, 3:, c])
    return J, dJ


@njit(cache=True)
def sum_of_links(
    J: np.ndarray, dJ: np.ndarray, inertias: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """M = sum of J^T I J over links with constant inertias I (N, 6, 6), and dM/dq (.., .., n)."""
    size, n = J.shape[2], dJ.shape[3]
    M, dM = np.zeros((size, size)), np.zeros((size, size, n))
    for b in range(len(J)):
        IJ = inertias[b] @ J[b]
        M += J[b].T @ IJ
        for k in range(n):
            half = np.ascontiguousarray(dJ[b, :, :, k]).T @ IJ
            dM[:, :, k] += half + half.T
    return M, dM


@njit(cache=True)
def _turn(u, angle):
    """Rotation by an angle about a unit axis (Rodrigues)."""
    c, s = math.cos(angle), math.sin(angle)
    R = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            R[i, j] = (1.0 - c) * u[i] * u[j]
        R[i, i] += c
    R[0, 1] -= s * u[2]
    R[1, 0] += s * u[2]
    R[0, 2] += s * u[1]
    R[2, 0] -= s * u[1]
    R[1, 2] -= s * u[0]
    R[2, 1] += s * u[0]
    return R


@njit(cache=True)
def _cross(a, b):
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )
