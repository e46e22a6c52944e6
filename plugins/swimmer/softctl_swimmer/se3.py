"""The group of rigid motions: Cayley map, its trivialised derivative, momenta. Compiled.

Twists are (linear, angular) in the moving frame, momenta (linear, angular) dual to them.

Source: Bou-Rabee, Marsden 2009, Found. Comput. Math. 9, section 4; Kobilarov, Marsden 2011, IEEE
T-RO 27, eq. (30), with the linear part first here.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def hat(a: np.ndarray) -> np.ndarray:
    """Matrix of the cross product with a, from the left."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


@njit(cache=True)
def cayley(twist: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (3, 3) and displacement (3,) of cay(X) = (I - X / 2)^-1 (I + X / 2)."""
    v, w = twist[:3], twist[3:]
    W = hat(w)
    scale = 1.0 / (1.0 + 0.25 * (w @ w))
    R = np.eye(3) + scale * (W + 0.5 * (W @ W))
    return R, scale * (v + 0.5 * (W @ v) + 0.25 * (w @ v) * w)


@njit(cache=True)
def dcay_inv_transpose(
    twist: np.ndarray, momentum: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Dual of the inverse right-trivialised derivative of `cayley`, applied to a momentum.

    From (I - X / 2) Y (I + X / 2) = Y - [X, Y] / 2 - X Y X / 4.

    Returns:
        The image of the momentum, shape (6,).
        B: the linear map itself, image = B momentum, shape (6, 6).
        Its derivative by the twist at fixed momentum, shape (6, 6).
    """
    v, w, P, L = twist[:3], twist[3:], momentum[:3], momentum[3:]
    V, W = hat(v), hat(w)
    B = np.zeros((6, 6))
    B[:3, :3] = np.eye(3) + 0.5 * W
    B[3:, :3] = 0.5 * V + 0.25 * (V @ W)
    B[3:, 3:] = np.eye(3) + 0.5 * W + 0.25 * np.outer(w, w)
    D = np.zeros((6, 6))
    D[:3, 3:] = -0.5 * hat(P)
    D[3:, :3] = -0.5 * hat(P) - 0.25 * hat(W @ P)
    D[3:, 3:] = -0.5 * hat(L) + 0.25 * ((w @ L) * np.eye(3) + np.outer(w, L) - V @ hat(P))
    return B @ momentum, B, D


@njit(cache=True)
def body_momentum(rotation: np.ndarray, position: np.ndarray, momentum: np.ndarray) -> np.ndarray:
    """A spatial momentum, angular part about the fixed origin, in a moving frame, shape (6,)."""
    out = np.empty(6)
    out[:3] = rotation.T @ momentum[:3]
    out[3:] = rotation.T @ (momentum[3:] - hat(position) @ momentum[:3])
    return out


@njit(cache=True)
def spatial_momentum(
    rotation: np.ndarray, position: np.ndarray, momentum: np.ndarray
) -> np.ndarray:
    """The inverse of `body_momentum`, shape (6,)."""
    out = np.empty(6)
    out[:3] = rotation @ momentum[:3]
    out[3:] = rotation @ momentum[3:] + hat(position) @ out[:3]
    return out


@njit(cache=True)
def coadjoint(twist: np.ndarray, momentum: np.ndarray) -> np.ndarray:
    """Rate of a body momentum that is constant in space: (P x w, L x w + P x v), shape (6,)."""
    out = np.empty(6)
    out[:3] = hat(momentum[:3]) @ twist[3:]
    out[3:] = hat(momentum[3:]) @ twist[3:] + hat(momentum[:3]) @ twist[:3]
    return out
