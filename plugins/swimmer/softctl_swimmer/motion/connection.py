"""Where prescribed joint angles take a swimmer: the mechanical connection of free swimming.

At given momentum the base's twist follows from the joint rates alone,

    V = Mvv^-1 (p - Mvq dq/dt)

so that from rest only the path of the angles counts, not its pace: a path that is retraced leads
back (the scallop theorem of potential flow).

Source: Kanso, Marsden, Rowley, Melli-Huber 2005, J. Nonlinear Sci. 15.
"""

from __future__ import annotations

import numpy as np

from softctl_swimmer.motion.inertia import Inertia
from softctl_swimmer.motion.se3 import cayley


def local_connection(inertia: Inertia, angles: np.ndarray) -> np.ndarray:
    """Twist of link 0, in its frame, for unit joint rates at zero momentum, shape (6, n).

    Args:
        inertia: Of bodies and fluid.
        angles: Of the hinges [rad], shape (n,).
    """
    M = inertia.mass(angles)
    return -np.linalg.solve(M[:6, :6], M[:6, 6:])


def prescribed_motion(inertia: Inertia, path: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Poses of link 0 while the joints follow a path, from rest at the origin.

    Midpoint rule with the Cayley map: second order in the path's spacing, and a path that is
    retraced point by point leads back to rounding.

    Args:
        inertia: Of bodies and fluid.
        path: Joint angles [rad], shape (K + 1, n).

    Returns:
        Rotations, shape (K + 1, 3, 3), and positions [m], shape (K + 1, 3).
    """
    path = np.asarray(path, dtype=float)
    rotations, positions = [np.eye(3)], [np.zeros(3)]
    for here, there in zip(path, path[1:], strict=False):
        turn, shift = cayley(local_connection(inertia, (here + there) / 2) @ (there - here))
        positions.append(positions[-1] + rotations[-1] @ shift)
        rotations.append(rotations[-1] @ turn)
    return np.array(rotations), np.array(positions)
