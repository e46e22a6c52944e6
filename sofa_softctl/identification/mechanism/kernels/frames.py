"""Where the joints of a tree are, and the inertia of what they carry."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.identification.mechanism.arrays import Frames, Tree, Values
from sofa_softctl.identification.mechanism.kernels.screws import cross, dot, rotation


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
    turn, here, axis = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for j in range(count):
        c, parent = tree.coordinate[j], tree.parent[j]
        at = q[c] if c >= 0 else value(tree.rigid, j, rho)
        for i in range(3):
            x[j, i] = tree.moved[j, i]
            for k in range(3):
                here[i, k] = tree.turned[j, i, k]
        if parent >= 0:
            for i in range(3):
                x[j, i] = x[parent, i] + dot(R[parent, i], tree.moved[j])
                for k in range(3):
                    here[i, k] = dot(R[parent, i], tree.turned[j, :, k])
        for i in range(3):
            axis[i] = dot(here[i], tree.axis[j])
        if tree.sliding[j]:
            S[j, 3:] = axis
            R[j] = here
            for i in range(3):
                x[j, i] += at * axis[i]
            continue
        S[j, :3] = axis
        cross(x[j], axis, S[j, 3:])
        rotation(tree.axis[j], at, turn)
        for i in range(3):
            for k in range(3):
                R[j, i, k] = dot(here[i], turn[:, k])
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
