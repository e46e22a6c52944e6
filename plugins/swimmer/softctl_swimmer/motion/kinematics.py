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
        angles: Angles of the hinges [rad], shape (n,).
    """
    n = len(angles)
    R, p = np.zeros((n + 1, 3, 3)), np.zeros((n + 1, 3))
    R[0, 0, 0] = R[0, 1, 1] = R[0, 2, 2] = 1.0
    for j in range(n):
        a, b = parents[j], j + 1
        turn = _turn(axes[j], angles[j])
        for i in range(3):
            for m in range(3):
                for k in range(3):
                    R[b, i, m] += R[a, i, k] * turn[k, m]
        for i in range(3):
            p[b, i] = p[a, i]
            for m in range(3):
                p[b, i] += R[a, i, m] * inner[j, m] - R[b, i, m] * outer[j, m]
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
    twist = np.zeros(6)  # in link 0's frame, at its origin
    for b in range(n + 1):
        if b > 0:
            moves[b] = moves[parents[b - 1]]
            moves[b, b - 1] = True
        for c in range(6):
            twist[:] = 0.0
            twist[c] = 1.0
            _seen_by_link(twist, R[b], p[b], J[b, :, c])
        for j in range(n):
            if moves[b, j]:
                _hinge_twist(R[parents[j]], p[parents[j]], axes[j], inner[j], twist)
                _seen_by_link(twist, R[b], p[b], J[b, :, 6 + j])
        for k in range(n):
            for c in range(6 + n):
                if moves[b, k] and (c < 6 or (c - 6 < k and moves[b, c - 6])):
                    _bracket(J[b, :, c], J[b, :, 6 + k], dJ[b, :, c, k])
    return J, dJ


@njit(cache=True)
def sum_of_links(
    J: np.ndarray, dJ: np.ndarray, inertias: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """M = sum of J^T I J over links with constant inertias I (N, 6, 6), and dM/dq (.., .., n)."""
    size, n = J.shape[2], dJ.shape[3]
    M, dM = np.zeros((size, size)), np.zeros((size, size, n))
    IJ = np.zeros((6, size))
    for b in range(len(J)):
        for r in range(6):
            for c in range(size):
                IJ[r, c] = 0.0
                for m in range(6):
                    IJ[r, c] += inertias[b, r, m] * J[b, m, c]
        for c in range(size):
            for d in range(size):
                for m in range(6):
                    M[c, d] += J[b, m, c] * IJ[m, d]
                    for k in range(n):
                        half = dJ[b, m, c, k] * IJ[m, d]
                        dM[c, d, k] += half
                        dM[d, c, k] += half
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
def _hinge_twist(R, p, axis, inner, twist):
    """Twist of a unit rate of a hinge carried by a link at (R, p), in link 0's frame."""
    place = np.empty(3)
    for i in range(3):
        place[i] = p[i]
        twist[3 + i] = 0.0
        for m in range(3):
            place[i] += R[i, m] * inner[m]
            twist[3 + i] += R[i, m] * axis[m]
    twist[0] = place[1] * twist[5] - place[2] * twist[4]  # place x axis
    twist[1] = place[2] * twist[3] - place[0] * twist[5]
    twist[2] = place[0] * twist[4] - place[1] * twist[3]


@njit(cache=True)
def _seen_by_link(twist, R, p, out):
    """Transform a twist of link 0's frame to the frame of a link at (R, p): Ad^-1."""
    vx = twist[0] + twist[4] * p[2] - twist[5] * p[1]
    vy = twist[1] + twist[5] * p[0] - twist[3] * p[2]
    vz = twist[2] + twist[3] * p[1] - twist[4] * p[0]
    for m in range(3):
        out[m] = R[0, m] * vx + R[1, m] * vy + R[2, m] * vz
        out[3 + m] = R[0, m] * twist[3] + R[1, m] * twist[4] + R[2, m] * twist[5]


@njit(cache=True)
def _bracket(X, s, out):
    """-ad(s) X = ad(X) s."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out[i] = X[3 + j] * s[k] - X[3 + k] * s[j] + X[j] * s[3 + k] - X[k] * s[3 + j]
        out[3 + i] = X[3 + j] * s[3 + k] - X[3 + k] * s[3 + j]
