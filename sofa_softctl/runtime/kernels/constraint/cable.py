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
def cable_rows(
    x: np.ndarray,
    x_free: np.ndarray,
    starts: np.ndarray,
    points: np.ndarray,
    pull_points: np.ndarray,
    has_pull_point: np.ndarray,
    entry_starts: np.ndarray,
    owner: np.ndarray,
    nodes: np.ndarray,
    weights: np.ndarray,
    point_directions: np.ndarray,
    directions: np.ndarray,
    length: np.ndarray,
    motion: np.ndarray,
) -> None:
    """Compute lengths and rows of several cables, and their shortening J (x_free - x).

    Args:
        x, x_free: Positions at the start, and of the free motion, shape (n, 3).
        starts: First point of each cable, and the number of points, shape (n_c + 1,).
        points: Points of the cables, shape (m,).
        pull_points, has_pull_point: As for `cable_geometry`, shapes (n_c, 3), (n_c,).
        entry_starts: First entry of each cable, and the number of entries, shape (n_c + 1,).
        owner, nodes, weights: Point that pulls an entry's node, the node, and the weight of the
            pull, shapes (k,).
        point_directions: Output: direction of each point, shape (m, 3).
        directions: Output: direction of each entry, shape (k, 3).
        length: Output [length], shape (n_c,).
        motion: Output [length], shape (n_c,).
    """
    for c in range(length.shape[0]):
        a, b = starts[c], starts[c + 1]
        length[c] = cable_geometry(
            x, points[a:b], pull_points[c], has_pull_point[c], point_directions[a:b]
        )
        shortening = 0.0
        for e in range(entry_starts[c], entry_starts[c + 1]):
            node = nodes[e]
            for j in range(3):
                directions[e, j] = point_directions[owner[e], j] * weights[e]
                shortening += directions[e, j] * (x_free[node, j] - x[node, j])
        motion[c] = shortening


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
