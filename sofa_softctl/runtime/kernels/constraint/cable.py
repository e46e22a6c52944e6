"""Length of cables through points, with gradient."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit


@njit
def cable_geometry(
    x: np.ndarray,
    indices: np.ndarray,
    pull_point: np.ndarray,
    has_pull_point: bool,
    directions: np.ndarray,
) -> float:
    """Return the length of the cable; write the direction -dL/dx of each of its points.

    u_k is the unit vector from point k towards the point before it (the pull point before the
    first). A point is pulled towards both its neighbours: u_k - u_(k+1). Coincident points have
    no direction between them.

    Args:
        x: Positions, shape (n, 3).
        indices: Points in the order of the cable, from the pull point on, shape (m,).
        pull_point: Fixed point from which the cable is pulled, shape (3,).
        has_pull_point: The cable has a pull point.
        directions: Output, shape (m, 3).

    Returns:
        Length of the cable [length].
    """
    directions[:] = 0.0
    length = 0.0
    for k in range(indices.shape[0]):
        if k == 0 and not has_pull_point:
            continue
        p = x[indices[k]]
        before = pull_point if k == 0 else x[indices[k - 1]]
        d0, d1, d2 = before[0] - p[0], before[1] - p[1], before[2] - p[2]
        distance = (d0 * d0 + d1 * d1 + d2 * d2) ** 0.5
        length += distance
        if distance == 0.0:
            continue
        u0, u1, u2 = d0 / distance, d1 / distance, d2 / distance
        directions[k, 0] += u0
        directions[k, 1] += u1
        directions[k, 2] += u2
        if k > 0:
            directions[k - 1, 0] -= u0
            directions[k - 1, 1] -= u1
            directions[k - 1, 2] -= u2
    return length


@njit
def segment_stiffness(
    x: np.ndarray,
    indices: np.ndarray,
    pull_point: np.ndarray,
    has_pull_point: bool,
    blocks: np.ndarray,
) -> None:
    """Write the derivative of the directions of `cable_geometry`, the second of the length.

    Segment k joins point k to the point before it; blocks[k] = (I - u_k u_k^T) / length. Under unit
    tension the points k - 1 and k have the stiffness [[b, -b], [-b, b]].

    Args:
        x, indices, pull_point, has_pull_point: As for `cable_geometry`.
        blocks: Output, shape (m, 3, 3); 0 for a segment that is missing or has no length.
    """
    blocks[:] = 0.0
    d = np.empty(3)
    for k in range(indices.shape[0]):
        if k == 0 and not has_pull_point:
            continue
        square = 0.0
        for i in range(3):
            before = pull_point[i] if k == 0 else x[indices[k - 1], i]
            d[i] = before - x[indices[k], i]
            square += d[i] * d[i]
        if square == 0.0:
            continue
        length = square**0.5
        for i in range(3):
            for j in range(3):
                blocks[k, i, j] = -d[i] * d[j] / (square * length)
            blocks[k, i, i] += 1.0 / length
