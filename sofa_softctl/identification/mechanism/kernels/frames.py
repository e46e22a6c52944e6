"""Frames of the joints of a tree, and the inertia of their bodies.

Motions (omega, v) and momenta (angular, linear) in world axes about the world's origin.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.identification.mechanism.kernels.arrays import Frames, Tree, Values


@njit
def value(of: Values, i: int, rho: np.ndarray) -> float:
    """Value of entry i."""
    k = of.parameter[i]
    return of.constant[i] + (of.factor[i] * rho[k] if k >= 0 else 0.0)


@njit(separate=True)
def frames(tree: Tree, rho: np.ndarray, q: np.ndarray) -> Frames:
    """Forward kinematics."""
    count = tree.parent.shape[0]
    R, x, S = np.empty((count, 3, 3)), np.empty((count, 3)), np.zeros((count, 6))
    turn, local_rotation, axis = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for j in range(count):
        c, parent = tree.coordinate[j], tree.parent[j]
        at = q[c] if c >= 0 else value(tree.rigid, j, rho)
        for i in range(3):
            x[j, i] = tree.moved[j, i]
            for k in range(3):
                local_rotation[i, k] = tree.turned[j, i, k]
        if parent >= 0:
            for i in range(3):
                x[j, i] = x[parent, i] + dot(R[parent, i], tree.moved[j])
                for k in range(3):
                    local_rotation[i, k] = dot(R[parent, i], tree.turned[j, :, k])
        for i in range(3):
            axis[i] = dot(local_rotation[i], tree.axis[j])
        if tree.sliding[j]:
            S[j, 3:] = axis
            R[j] = local_rotation
            for i in range(3):
                x[j, i] += at * axis[i]
            continue
        S[j, :3] = axis
        cross(x[j], axis, S[j, 3:])
        rotation(tree.axis[j], at, turn)
        for i in range(3):
            for k in range(3):
                R[j, i, k] = dot(local_rotation[i], turn[:, k])
    return Frames(R, x, S)


@njit
def place(at: Frames, joint: int, local: np.ndarray, point: bool, out: np.ndarray) -> None:
    """A point or a direction in a joint's frame, in the world."""
    if joint < 0:
        out[:] = local
        return
    for i in range(3):
        out[i] = dot(at.R[joint, i], local) + (at.x[joint, i] if point else 0.0)


@njit(separate=True)
def unit_inertia(tree: Tree, at: Frames, b: int, out: np.ndarray) -> None:
    """Inertia of body b, for a mass of 1, about the world's origin."""
    j = tree.body[b]
    c = np.empty(3)
    for i in range(3):
        c[i] = at.x[j, i] + dot(at.R[j, i], tree.center[b])
    world = at.R[j] @ tree.gyration[b] @ at.R[j].T
    square = dot(c, c)
    out[0] = 1.0
    out[1:4] = c
    for i in range(3):
        out[4 + i] = world[i, i] + square - c[i] * c[i]
    out[7] = world[0, 1] - c[0] * c[1]
    out[8] = world[0, 2] - c[0] * c[2]
    out[9] = world[1, 2] - c[1] * c[2]


@njit
def cross(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """a x b."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@njit
def dot(a: np.ndarray, b: np.ndarray) -> float:
    """Dot product of two short vectors."""
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@njit
def bracket(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """[a, b] of two motions."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]
    out[3] = a[1] * b[5] - a[2] * b[4] + a[4] * b[2] - a[5] * b[1]
    out[4] = a[2] * b[3] - a[0] * b[5] + a[5] * b[0] - a[3] * b[2]
    out[5] = a[0] * b[4] - a[1] * b[3] + a[3] * b[1] - a[4] * b[0]


@njit
def momentum(inertia: np.ndarray, a: np.ndarray, out: np.ndarray) -> None:
    """Momentum of `inertia` (mass, mass * centre, xx yy zz xy xz yz) in motion a."""
    m, x, y, z = inertia[0], inertia[1], inertia[2], inertia[3]
    out[0] = inertia[4] * a[0] + inertia[7] * a[1] + inertia[8] * a[2] + y * a[5] - z * a[4]
    out[1] = inertia[7] * a[0] + inertia[5] * a[1] + inertia[9] * a[2] + z * a[3] - x * a[5]
    out[2] = inertia[8] * a[0] + inertia[9] * a[1] + inertia[6] * a[2] + x * a[4] - y * a[3]
    out[3] = m * a[3] + a[1] * z - a[2] * y
    out[4] = m * a[4] + a[2] * x - a[0] * z
    out[5] = m * a[5] + a[0] * y - a[1] * x


@njit
def add_transposed_bracket(s: np.ndarray, p: np.ndarray, factor: float, out: np.ndarray) -> None:
    """out += factor * [s, .]^T p, with p a momentum."""
    out[0] += factor * (p[1] * s[2] - p[2] * s[1] + p[4] * s[5] - p[5] * s[4])
    out[1] += factor * (p[2] * s[0] - p[0] * s[2] + p[5] * s[3] - p[3] * s[5])
    out[2] += factor * (p[0] * s[1] - p[1] * s[0] + p[3] * s[4] - p[4] * s[3])
    out[3] += factor * (p[4] * s[2] - p[5] * s[1])
    out[4] += factor * (p[5] * s[0] - p[3] * s[2])
    out[5] += factor * (p[3] * s[1] - p[4] * s[0])


@njit
def fall(s: np.ndarray, inertia: np.ndarray, out: np.ndarray) -> None:
    """Derivative of mass * centre along the screw s."""
    cross(s[:3], inertia[1:4], out)
    for i in range(3):
        out[i] += inertia[0] * s[3 + i]


@njit
def rotation(axis: np.ndarray, angle: float, out: np.ndarray) -> None:
    """Rotation matrix (Rodrigues)."""
    s, c = np.sin(angle), np.cos(angle)
    for i in range(3):
        for k in range(3):
            out[i, k] = (1.0 - c) * axis[i] * axis[k]
        out[i, i] += c
    out[0, 1] -= s * axis[2]
    out[1, 0] += s * axis[2]
    out[0, 2] += s * axis[1]
    out[2, 0] -= s * axis[1]
    out[1, 2] -= s * axis[0]
    out[2, 1] += s * axis[0]


@njit
def slide(s: np.ndarray, x: np.ndarray, point: bool, out: np.ndarray) -> None:
    """Derivative of a point or a direction along the screw s."""
    cross(s[:3], x, out)
    if point:
        for i in range(3):
            out[i] += s[3 + i]
