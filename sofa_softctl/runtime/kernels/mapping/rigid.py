"""Rigid bodies: positions (n, 7) are x y z and a unit quaternion x y z w, velocities (n, 6)."""

from __future__ import annotations

import math

import numpy as np

from sofa_softctl.base.jit import njit


@njit
def _turn(q: np.ndarray, p: np.ndarray, out: np.ndarray) -> None:
    """out = R(q) p, shapes (4,), (3,), (3,)."""
    a = 2.0 * (q[1] * p[2] - q[2] * p[1])
    b = 2.0 * (q[2] * p[0] - q[0] * p[2])
    c = 2.0 * (q[0] * p[1] - q[1] * p[0])
    out[0] = p[0] + q[3] * a + q[1] * c - q[2] * b
    out[1] = p[1] + q[3] * b + q[2] * a - q[0] * c
    out[2] = p[2] + q[3] * c + q[0] * b - q[1] * a


@njit
def advance(x: np.ndarray, v: np.ndarray, h: float, out: np.ndarray) -> None:
    """out = x moved by h v: centres by h v, rotations by exp(h omega) from the left.

    Args:
        x: Positions, shape (n, 7).
        v: Linear and angular velocities in the world's axes, shape (n, 6).
        h: Length of the step.
        out: Output, shape (n, 7); may be x.

    Source: SOFA's sum of a RigidCoord and a RigidDeriv, also below its threshold of the angle.
    """
    for i in range(x.shape[0]):
        for a in range(3):
            out[i, a] = x[i, a] + h * v[i, a]
        e0, e1, e2 = 0.5 * h * v[i, 3], 0.5 * h * v[i, 4], 0.5 * h * v[i, 5]
        angle = math.sqrt(e0 * e0 + e1 * e1 + e2 * e2)
        scale, e3 = 1.0, 1.0
        if angle >= 2.220446049250313e-16:
            scale, e3 = math.sin(angle) / angle, math.cos(angle)
        e0, e1, e2 = scale * e0, scale * e1, scale * e2
        q0, q1, q2, q3 = x[i, 3], x[i, 4], x[i, 5], x[i, 6]
        out[i, 3] = e3 * q0 + e0 * q3 + e1 * q2 - e2 * q1
        out[i, 4] = e3 * q1 + e1 * q3 + e2 * q0 - e0 * q2
        out[i, 5] = e3 * q2 + e2 * q3 + e0 * q1 - e1 * q0
        out[i, 6] = e3 * q3 - (e0 * q0 + e1 * q1 + e2 * q2)


@njit
def place(x: np.ndarray, body: np.ndarray, local: np.ndarray, arm: np.ndarray) -> None:
    """arm = R p: points of bodies as seen from their centres, in the world's axes.

    Args:
        x: Positions of the bodies, shape (n, 7).
        body: Body of each point, shape (m,).
        local: Positions p in the bodies' axes, shape (m, 3).
        arm: Output, shape (m, 3).
    """
    for i in range(body.shape[0]):
        _turn(x[body[i], 3:7], local[i], arm[i])


@njit
def velocities(v: np.ndarray, body: np.ndarray, arm: np.ndarray, out: np.ndarray) -> None:
    """out = v_c + omega x arm.

    Args:
        v: Velocities of the bodies, shape (n, 6).
        body: Body of each point, shape (m,).
        arm: From the body's centre to each point, shape (m, 3).
        out: Output, shape (m, 3).
    """
    for i in range(body.shape[0]):
        b = body[i]
        w0, w1, w2 = v[b, 3], v[b, 4], v[b, 5]
        out[i, 0] = v[b, 0] + w1 * arm[i, 2] - w2 * arm[i, 1]
        out[i, 1] = v[b, 1] + w2 * arm[i, 0] - w0 * arm[i, 2]
        out[i, 2] = v[b, 2] + w0 * arm[i, 1] - w1 * arm[i, 0]


@njit
def add_wrenches(force: np.ndarray, body: np.ndarray, arm: np.ndarray, out: np.ndarray) -> None:
    """out += (f, arm x f), the transpose of `velocities`; shapes (m, 3) and (n, 6)."""
    for i in range(body.shape[0]):
        b = body[i]
        f0, f1, f2 = force[i, 0], force[i, 1], force[i, 2]
        out[b, 0] += f0
        out[b, 1] += f1
        out[b, 2] += f2
        out[b, 3] += arm[i, 1] * f2 - arm[i, 2] * f1
        out[b, 4] += arm[i, 2] * f0 - arm[i, 0] * f2
        out[b, 5] += arm[i, 0] * f1 - arm[i, 1] * f0


@njit
def cross_matrices(arm: np.ndarray, out: np.ndarray) -> None:
    """out w = w x arm, shapes (m, 3) and (m, 3, 3)."""
    for i in range(arm.shape[0]):
        x, y, z = arm[i, 0], arm[i, 1], arm[i, 2]
        out[i, 0, 0], out[i, 0, 1], out[i, 0, 2] = 0.0, z, -y
        out[i, 1, 0], out[i, 1, 1], out[i, 1, 2] = -z, 0.0, x
        out[i, 2, 0], out[i, 2, 1], out[i, 2, 2] = y, -x, 0.0


def rotate_vectors(q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return R(q) p, shapes (..., 4) and (..., 3)."""
    t = 2.0 * np.cross(q[..., :3], p)
    return np.asarray(p + q[..., 3:] * t + np.cross(q[..., :3], t))


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the quaternion of the rotation b followed by the rotation a, shapes (..., 4)."""
    axis = a[..., 3:] * b[..., :3] + b[..., 3:] * a[..., :3] + np.cross(a[..., :3], b[..., :3])
    real = a[..., 3:] * b[..., 3:] - (a[..., :3] * b[..., :3]).sum(axis=-1, keepdims=True)
    return np.concatenate([axis, real], axis=-1)


def conjugate(q: np.ndarray) -> np.ndarray:
    """Return the quaternion of the inverse rotation, shape (..., 4)."""
    return np.asarray(q * np.array([-1.0, -1.0, -1.0, 1.0]))


def rotation_vector(q: np.ndarray) -> np.ndarray:
    """Return axis times angle of a rotation, angle in [0, pi], shape (..., 3).

    Args:
        q: Quaternions of about length one, shape (..., 4).
    """
    length = np.linalg.norm(q, axis=-1, keepdims=True)
    q = q / np.where(length > 0.0, length, 1.0)
    q = np.where(q[..., 3:] < 0.0, -q, q)
    sine = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, q[..., 3:])
    small = sine < 2.220446049250313e-16
    vector: np.ndarray = q[..., :3] * np.where(small, 2.0, angle / np.where(small, 1.0, sine))
    return vector
