"""The group of rigid motions: Cayley map, its trivialised derivative, momenta. Compiled.

Twists are (linear, angular) in the moving frame, momenta (linear, angular) dual to them.

Source: Bou-Rabee, Marsden 2009, Found. Comput. Math. 9; Kobilarov, Marsden 2011, IEEE T-RO 27,
with the linear part first here.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross product a x b, shape (3,)."""
    out = np.empty(3)
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]
    return out


@njit(cache=True)
def dot(a: np.ndarray, b: np.ndarray) -> float:
    """Scalar product of two vectors of three."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True)
def cayley(twist: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (3, 3) and displacement (3,) of cay(X) = (I - X / 2)^-1 (I + X / 2)."""
    v, w = twist[:3], twist[3:]
    scale = 1.0 / (1.0 + 0.25 * dot(w, w))
    R, unit = np.empty((3, 3)), np.zeros(3)
    for k in range(3):
        unit[:] = 0.0
        unit[k] = 1.0
        across = cross(w, unit)
        R[:, k] = unit + scale * (across + 0.5 * cross(w, across))
    return R, scale * (v + 0.5 * cross(w, v) + 0.25 * dot(w, v) * w)


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
    B, D, unit = np.empty((6, 6)), np.empty((6, 6)), np.zeros(6)
    for k in range(6):
        unit[:] = 0.0
        unit[k] = 1.0
        B[:, k] = _image(twist, unit)
        # the image is a quadratic polynomial of the twist: central differences are exact
        D[:, k] = 0.5 * (_image(twist + unit, momentum) - _image(twist - unit, momentum))
    return _image(twist, momentum), B, D


@njit(cache=True)
def _image(twist, momentum):
    v, w, P, L = twist[:3], twist[3:], momentum[:3], momentum[3:]
    wP = cross(w, P)
    out = np.empty(6)
    out[:3] = P + 0.5 * wP
    out[3:] = L + 0.5 * (cross(w, L) + cross(v, P)) + 0.25 * (dot(w, L) * w + cross(v, wP))
    return out


@njit(cache=True)
def body_momentum(rotation: np.ndarray, position: np.ndarray, momentum: np.ndarray) -> np.ndarray:
    """A spatial momentum, angular part about the fixed origin, in a moving frame, shape (6,)."""
    angular = momentum[3:] - cross(position, momentum[:3])
    out = np.empty(6)
    for i in range(3):
        out[i] = dot(rotation[:, i], momentum[:3])
        out[3 + i] = dot(rotation[:, i], angular)
    return out


@njit(cache=True)
def spatial_momentum(
    rotation: np.ndarray, position: np.ndarray, momentum: np.ndarray
) -> np.ndarray:
    """The inverse of `body_momentum`, shape (6,)."""
    out = np.empty(6)
    for i in range(3):
        out[i] = dot(rotation[i], momentum[:3])
        out[3 + i] = dot(rotation[i], momentum[3:])
    out[3:] += cross(position, out[:3])
    return out


@njit(cache=True)
def coadjoint(twist: np.ndarray, momentum: np.ndarray) -> np.ndarray:
    """Rate of a body momentum that is constant in space: (P x w, L x w + P x v), shape (6,)."""
    v, w, P, L = twist[:3], twist[3:], momentum[:3], momentum[3:]
    out = np.empty(6)
    out[:3] = cross(P, w)
    out[3:] = cross(L, w) + cross(P, v)
    return out
