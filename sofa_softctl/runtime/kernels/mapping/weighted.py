"""Mappings that are weighted sums of nodes: x_child = sum of weights times x_parent."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit


@njit
def weighted_sum(
    starts: np.ndarray, nodes: np.ndarray, weights: np.ndarray, x: np.ndarray, out: np.ndarray
) -> None:
    """out[i] = sum over k in starts[i]:starts[i + 1] of weights[k] x[nodes[k]], shapes (n, 3)."""
    for i in range(out.shape[0]):
        a = b = c = 0.0
        for k in range(starts[i], starts[i + 1]):
            w = weights[k]
            n = nodes[k]
            a += w * x[n, 0]
            b += w * x[n, 1]
            c += w * x[n, 2]
        out[i, 0], out[i, 1], out[i, 2] = a, b, c


@njit
def add_transposed(
    starts: np.ndarray, nodes: np.ndarray, weights: np.ndarray, force: np.ndarray, out: np.ndarray
) -> None:
    """out[nodes[k]] += weights[k] force[i], the transpose of `weighted_sum`."""
    for i in range(force.shape[0]):
        for k in range(starts[i], starts[i + 1]):
            w = weights[k]
            n = nodes[k]
            out[n, 0] += w * force[i, 0]
            out[n, 1] += w * force[i, 1]
            out[n, 2] += w * force[i, 2]


@njit
def follow(
    starts: np.ndarray,
    nodes: np.ndarray,
    weights: np.ndarray,
    first: int,
    x: np.ndarray,
    v: np.ndarray,
) -> None:
    """Compute rows of x and v from rows further up, as weighted sums.

    Args:
        starts, nodes, weights: Row `first` + i is the sum over k in starts[i]:starts[i + 1] of
            weights[k] times row nodes[k].
        first: First row to compute.
        x: Positions, shape (n, 3).
        v: Velocities, shape (n, 3).
    """
    for i in range(starts.shape[0] - 1):
        for j in range(3):
            position = velocity = 0.0
            for k in range(starts[i], starts[i + 1]):
                position += weights[k] * x[nodes[k], j]
                velocity += weights[k] * v[nodes[k], j]
            x[first + i, j], v[first + i, j] = position, velocity


@njit
def follow_freely(
    starts: np.ndarray,
    nodes: np.ndarray,
    weights: np.ndarray,
    first: int,
    x: np.ndarray,
    h: float,
    v_free: np.ndarray,
    x_free: np.ndarray,
) -> None:
    """Compute rows of v_free as `follow` does, and of x_free = x + h v_free."""
    for i in range(starts.shape[0] - 1):
        for j in range(3):
            velocity = 0.0
            for k in range(starts[i], starts[i + 1]):
                velocity += weights[k] * v_free[nodes[k], j]
            v_free[first + i, j] = velocity
            x_free[first + i, j] = x[first + i, j] + h * velocity
