"""Products with Jacobians of mappings: as weights of nodes, and in 3x3 blocks.

Blocks: of two Jacobians in a row, J^T K J, and J^T of constraint rows. Most of them are a weight
times the identity; for these only the weight is multiplied.
"""

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


@njit
def _multiply(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """out = a b, shapes (3, 3)."""
    for i in range(3):
        for j in range(3):
            out[i, j] = a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j]


@njit
def compose(
    target: np.ndarray, left: np.ndarray, right: np.ndarray, first: np.ndarray, blocks: np.ndarray
) -> None:
    """blocks[t] = sum of first[left[k]] blocks[right[k]] over the k with target[k] = t.

    Args:
        target, left, right: Result and factors of each product, shape (k,); no result is a factor.
        first: Blocks of a mapping, shape (p, 3, 3).
        blocks: Blocks of states above and below it, shape (z, 3, 3).
    """
    for k in range(target.size):
        blocks[target[k], :, :] = 0.0
    for k in range(target.size):
        a, b, c = first[left[k]], blocks[right[k]], blocks[target[k]]
        for i in range(3):
            for j in range(3):
                c[i, j] += a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j]


@njit
def add_projected(
    rows: np.ndarray,
    cols: np.ndarray,
    K: np.ndarray,
    starts: np.ndarray,
    nodes: np.ndarray,
    blocks: np.ndarray,
    is_weight: np.ndarray,
    slots: np.ndarray,
    values: np.ndarray,
) -> None:
    """values += J^T K J.

    A block P = J_a^T K_pq J_b of K belongs to the nodes a and b of the result; K is symmetric, so
    a block off its diagonal also stands for P^T at (b, a).

    Args:
        rows, cols: Row p and column q <= p of each block of K, shape (k,).
        K: Lower triangle, shape (k, 3, 3).
        starts, nodes, blocks: J in CSR form, shapes (n + 1,), (z,), (z, 3, 3).
        is_weight: True for blocks of J that are a weight times the identity, shape (z,).
        slots: Block of `values` for each block of K, each a of p and, in it, each b of q; ~slot
            if the transpose of P is added.
        values: Output, the lower triangle, shape (m, 3, 3).
    """
    P, half = np.empty((3, 3)), np.empty((3, 3))
    t = 0
    for k in range(rows.size):
        p, q, block = rows[k], cols[k], K[k]
        for a in range(starts[p], starts[p + 1]):
            for b in range(starts[q], starts[q + 1]):
                slot = slots[t]
                t += 1
                is_same = nodes[a] == nodes[b]
                if p == q and slot < 0:
                    continue  # the transpose of another product
                if is_weight[a] and is_weight[b]:
                    weight = blocks[a, 0, 0] * blocks[b, 0, 0]
                    for i in range(3):
                        for j in range(3):
                            P[i, j] = weight * block[i, j]
                else:
                    _multiply(blocks[a].T, block, half)
                    _multiply(half, blocks[b], P)
                out = values[slot if slot >= 0 else ~slot]
                if slot >= 0:
                    for i in range(3):
                        for j in range(3):
                            out[i, j] += P[i, j]
                if slot < 0 or (is_same and p != q):
                    for i in range(3):
                        for j in range(3):
                            out[i, j] += P[j, i]


@njit
def pull_directions(
    directions: np.ndarray,
    source: np.ndarray,
    index: np.ndarray,
    blocks: np.ndarray,
    is_weight: np.ndarray,
    node: np.ndarray,
    fixed: np.ndarray,
    out: np.ndarray,
) -> None:
    """out[k] = J^T directions[source[k]], J the block index[k]; 0 where the node is fixed.

    Args:
        directions: Directions of constraint rows on their states, shape (n, 3).
        source, index: Direction and block of each result, shape (k,).
        blocks: Blocks of Jacobians, shape (z, 3, 3).
        is_weight: True for blocks that are a weight times the identity, shape (z,).
        node: Node of the system of each result, shape (k,).
        fixed: True for fixed scalar degrees of freedom of the system, shape (m, 3).
        out: Output, shape (k, 3).
    """
    for k in range(source.size):
        d, J, weighs = directions[source[k]], blocks[index[k]], is_weight[index[k]]
        for i in range(3):
            if fixed[node[k], i]:
                out[k, i] = 0.0
            elif weighs:
                out[k, i] = J[i, i] * d[i]
            else:
                out[k, i] = J[0, i] * d[0] + J[1, i] * d[1] + J[2, i] * d[2]
