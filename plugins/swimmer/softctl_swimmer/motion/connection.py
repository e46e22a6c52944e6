"""Motion of a swimmer with prescribed joint angles: the mechanical connection of free swimming.

At given momentum the base's twist follows from the joint rates only,

    V = Mvv^-1 (p - Mvq dq/dt)

so that from rest only the path of the angles counts, not its speed: a path that is retraced leads
back (the scallop theorem of potential flow).

Source: Kanso, Marsden, Rowley, Melli-Huber 2005, J. Nonlinear Sci. 15.
"""

from __future__ import annotations

import numpy as np

from softctl_swimmer.motion.inertia import Inertia
from softctl_swimmer.motion.se3 import cayley


def local_connection(inertia: Inertia, angles: np.ndarray) -> np.ndarray:
    """Return the twist of link 0, in its frame, for unit joint rates at zero momentum, (6, n).

    Args:
        inertia: Inertia of bodies and fluid.
        angles: Angles of the hinges [rad], shape (n,).
    """
    M = inertia.mass(angles)
    return -np.linalg.solve(M[:6, :6], M[:6, 6:])


def prescribed_motion(inertia: Inertia, path: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the poses of link 0 while the joints follow a path, from rest at the origin.

    Midpoint rule with the Cayley map: second order in the path's spacing, and a path that is
    retraced point by point leads back to rounding.

    Args:
        inertia: Inertia of bodies and fluid.
        path: Joint angles [rad], shape (K + 1, n).

    Returns:
        Rotations, shape (K + 1, 3, 3), and positions [m], shape (K + 1, 3).
    """
    path = np.asarray(path, dtype=float)
    rotations, positions = [np.eye(3)], [np.zeros(3)]
    for angles, angles_next in zip(path, path[1:], strict=False):
        turn, shift = cayley(
            local_connection(inertia, (angles + angles_next) / 2) @ (angles_next - angles)
        )
        positions.append(positions[-1] + rotations[-1] @ shift)
        rotations.append(rotations[-1] @ turn)
    return np.array(rotations), np.array(positions)
