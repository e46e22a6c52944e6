"""Constraint rows as triplets (row, node, direction)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sofa_softctl.base.jit import njit


@njit
def add_rows_transposed(
    row: np.ndarray, node: np.ndarray, direction: np.ndarray, lam: np.ndarray, out: np.ndarray
) -> None:
    """Add H^T lam to out.

    Args:
        row: Row of each entry, shape (k,).
        node: Node of each entry, shape (k,).
        direction: Direction of each entry, shape (k, 3).
        lam: Multiplier of each row, shape (n_rows,).
        out: Output, shape (n_nodes, 3).
    """
    for k in range(row.shape[0]):
        factor = lam[row[k]]
        n = node[k]
        out[n, 0] += direction[k, 0] * factor
        out[n, 1] += direction[k, 1] * factor
        out[n, 2] += direction[k, 2] * factor


@njit
def position_violation(
    x: np.ndarray,
    x_free: np.ndarray,
    nodes: np.ndarray,
    directions: np.ndarray,
    origin: np.ndarray,
    violation: np.ndarray,
) -> None:
    """Compute the violation of rows along constant directions: d . (x_free - x) + d . (x - origin).

    Args:
        x, x_free: Positions at the start, and of the free motion, shape (n, 3).
        nodes: Node of each row, shape (k,).
        directions, origin: Direction and origin of each row, shape (k, 3).
        violation: Output [length], shape (k,).
    """
    for k in range(nodes.shape[0]):
        n = nodes[k]
        motion = offset = 0.0
        for j in range(3):
            motion += directions[k, j] * (x_free[n, j] - x[n, j])
            offset += directions[k, j] * (x[n, j] - origin[k, j])
        violation[k] = motion + offset


class Entries(NamedTuple):
    """Entries of constraint rows; entries with the same row and node add up."""

    row: np.ndarray
    """Row of each entry, shape (k,)."""
    node: np.ndarray
    """Node of each entry, shape (k,)."""
    direction: np.ndarray
    """Direction of each entry, shape (k, 3)."""
