"""Triangular solves with the panels of a sparse Cholesky factor.

Many right-hand sides are row-major, shape (3 n, m): one node is one run of memory, and BLAS sees
the column-major transpose. A single one is swept in plain loops, three columns of L at a time.
`Y`, `y`: in the elimination order, three unknowns a node; `b`, `x`: as in the matrix.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.kernels.blas import N, T, gemm, syrk, trsm
from sofa_softctl.runtime.kernels.jit import njit
from sofa_softctl.runtime.kernels.symbolic import Supernodes


@njit(fastmath=True)
def solve_vector(
    tree: Supernodes,
    factor: np.ndarray,
    order: np.ndarray,
    b: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    panel_y: np.ndarray,
) -> None:
    """x = A^-1 b at the nodes of `order`; elsewhere x is left as it is.

    Args:
        tree: Panels of L.
        factor: Their numbers.
        order: Node of the matrix at each place of the elimination order, shape (n,).
        b: Shape (3 n_nodes,).
        x: Output, shape (3 n_nodes,).
        y: Scratch, shape (3 n,).
        panel_y: Scratch, as long as the highest panel.
    """
    for place in range(order.size):
        for a in range(3):
            y[3 * place + a] = b[3 * order[place] + a]
    _forward_vector(tree, factor, y, panel_y)
    _backward_vector(tree, factor, y, panel_y)
    _scatter(order, y, x)


@njit(fastmath=True)
def solve_columns(
    tree: Supernodes,
    factor: np.ndarray,
    order: np.ndarray,
    b: np.ndarray,
    x: np.ndarray,
    Y: np.ndarray,
    panel_Y: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> None:
    """`solve_vector` for the columns of b, shapes (3 n_nodes, m); panel_Y: m times as long."""
    m = Y.shape[1]
    for place in range(order.size):
        for a in range(3):
            Y[3 * place + a] = b[3 * order[place] + a]
    low[:] = 0
    high[:] = m
    _forward_columns(tree, factor, Y, panel_Y, low, high)
    _backward_columns(tree, factor, Y, panel_Y)
    for place in range(order.size):
        for a in range(3):
            x[3 * order[place] + a] = Y[3 * place + a]


@njit(fastmath=True)
def forward_rows(
    tree: Supernodes,
    factor: np.ndarray,
    place: np.ndarray,
    row: np.ndarray,
    node: np.ndarray,
    vector: np.ndarray,
    Y: np.ndarray,
    panel_Y: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> bool:
    """Y = L^-1 P H^T for constraint rows H given by their entries.

    Args:
        tree: Panels of L.
        factor: Their numbers.
        place: Place of each node of the matrix in the elimination order, -1 if it has none.
        row, node, vector: Entries of H: H[row, node] += vector; shapes (k,), (k,), (k, 3).
        Y: Output, shape (3 n, n_rows).
        panel_Y: Scratch, n_rows times as long as the highest panel.
        low, high: Scratch, shape (n_super,).

    Returns:
        Whether all rows and nodes exist; otherwise Y is not defined.
    """
    m = Y.shape[1]
    Y[:] = 0.0
    low[:] = m
    high[:] = 0
    for k in range(row.size):
        if not (0 <= row[k] < m and 0 <= node[k] < place.size):
            return False
        at = place[node[k]]
        if at < 0:
            continue
        for a in range(3):
            Y[3 * at + a, row[k]] += vector[k, a]
        s = tree.of_node[at]
        low[s] = min(low[s], row[k])
        high[s] = max(high[s], row[k] + 1)
    _forward_columns(tree, factor, Y, panel_Y, low, high)
    return True


@njit(fastmath=True)
def gram(Y: np.ndarray, W: np.ndarray) -> None:
    """W = Y^T Y, shapes (3 n, m) and (m, m), exactly symmetric."""
    m = Y.shape[1]
    if m == 0:
        return
    syrk(m, Y.shape[0], 1.0, Y.reshape(-1), m, 0.0, W.reshape(-1), m)
    for i in range(m):
        for j in range(i):
            W[i, j] = W[j, i]


@njit(fastmath=True)
def solve_rows(
    tree: Supernodes,
    factor: np.ndarray,
    order: np.ndarray,
    Y: np.ndarray,
    lam: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    panel_y: np.ndarray,
) -> None:
    """x = A^-1 H^T lam = P^T L^-T Y lam, Y from `forward_rows`; other arguments: `solve_vector`."""
    for i in range(Y.shape[0]):
        total = 0.0
        for j in range(Y.shape[1]):
            total += Y[i, j] * lam[j]
        y[i] = total
    _backward_vector(tree, factor, y, panel_y)
    _scatter(order, y, x)


@njit
def _scatter(order: np.ndarray, y: np.ndarray, x: np.ndarray) -> None:
    for place in range(order.size):
        for a in range(3):
            x[3 * order[place] + a] = y[3 * place + a]


@njit(fastmath=True)
def _forward_vector(
    tree: Supernodes, factor: np.ndarray, y: np.ndarray, panel_y: np.ndarray
) -> None:
    """y = L^-1 y."""
    for s in range(tree.first.size - 1):
        start = 3 * tree.first[s]
        rows = tree.rows[tree.row_start[s] : tree.row_start[s + 1]]
        width, height = 3 * (tree.first[s + 1] - tree.first[s]), 3 * rows.size
        panel_y[:width] = y[start : start + width]
        panel_y[width:height] = 0.0
        for j in range(0, width, 3):
            c0 = factor[tree.panel_start[s] + j * height :][:height]
            c1 = factor[tree.panel_start[s] + (j + 1) * height :][:height]
            c2 = factor[tree.panel_start[s] + (j + 2) * height :][:height]
            y0 = panel_y[j] / c0[j]
            y1 = (panel_y[j + 1] - c0[j + 1] * y0) / c1[j + 1]
            y2 = (panel_y[j + 2] - c0[j + 2] * y0 - c1[j + 2] * y1) / c2[j + 2]
            y[start + j], y[start + j + 1], y[start + j + 2] = y0, y1, y2
            for i in range(j + 3, height):
                panel_y[i] -= c0[i] * y0 + c1[i] * y1 + c2[i] * y2
        for i in range(width // 3, rows.size):
            for a in range(3):
                y[3 * rows[i] + a] += panel_y[3 * i + a]


@njit(fastmath=True)
def _backward_vector(
    tree: Supernodes, factor: np.ndarray, y: np.ndarray, panel_y: np.ndarray
) -> None:
    """y = L^-T y."""
    for s in range(tree.first.size - 2, -1, -1):
        start = 3 * tree.first[s]
        rows = tree.rows[tree.row_start[s] : tree.row_start[s + 1]]
        width, height = 3 * (tree.first[s + 1] - tree.first[s]), 3 * rows.size
        for i in range(rows.size):
            for a in range(3):
                panel_y[3 * i + a] = y[3 * rows[i] + a]
        for j in range(width - 3, -1, -3):
            c0 = factor[tree.panel_start[s] + j * height :][:height]
            c1 = factor[tree.panel_start[s] + (j + 1) * height :][:height]
            c2 = factor[tree.panel_start[s] + (j + 2) * height :][:height]
            y0, y1, y2 = panel_y[j], panel_y[j + 1], panel_y[j + 2]
            for i in range(j + 3, height):
                y0 -= c0[i] * panel_y[i]
                y1 -= c1[i] * panel_y[i]
                y2 -= c2[i] * panel_y[i]
            y2 = y2 / c2[j + 2]
            y1 = (y1 - c1[j + 2] * y2) / c1[j + 1]
            y0 = (y0 - c0[j + 1] * y1 - c0[j + 2] * y2) / c0[j]
            panel_y[j], panel_y[j + 1], panel_y[j + 2] = y0, y1, y2
        y[start : start + width] = panel_y[:width]


@njit(fastmath=True)
def _forward_columns(
    tree: Supernodes,
    factor: np.ndarray,
    Y: np.ndarray,
    panel_Y: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> None:
    """Y = L^-1 Y. In panel s only the columns low[s] to high[s] may differ from zero."""
    m = Y.shape[1]
    flat = Y.reshape(-1)
    for s in range(tree.first.size - 1):
        c, k = low[s], high[s] - low[s]
        if k <= 0:
            continue
        rows = tree.rows[tree.row_start[s] : tree.row_start[s + 1]]
        nodes = tree.first[s + 1] - tree.first[s]
        width, height = 3 * nodes, 3 * rows.size
        panel = factor[tree.panel_start[s] : tree.panel_start[s + 1]]
        own = flat[3 * tree.first[s] * m + c :]
        trsm(T, k, width, panel, height, own, m)
        if rows.size == nodes:
            continue
        gemm(N, T, k, height - width, width, 1.0, own, m, panel[width:], height, 0.0, panel_Y, k)
        for i in range(nodes, rows.size):
            for a in range(3):
                to = (3 * rows[i] + a) * m + c
                source = (3 * (i - nodes) + a) * k
                for j in range(k):
                    flat[to + j] -= panel_Y[source + j]
        parent = tree.of_node[rows[nodes]]
        low[parent] = min(low[parent], c)
        high[parent] = max(high[parent], c + k)


@njit(fastmath=True)
def _backward_columns(
    tree: Supernodes, factor: np.ndarray, Y: np.ndarray, panel_Y: np.ndarray
) -> None:
    """Y = L^-T Y."""
    m = Y.shape[1]
    flat = Y.reshape(-1)
    for s in range(tree.first.size - 2, -1, -1):
        rows = tree.rows[tree.row_start[s] : tree.row_start[s + 1]]
        nodes = tree.first[s + 1] - tree.first[s]
        width, height = 3 * nodes, 3 * rows.size
        panel = factor[tree.panel_start[s] : tree.panel_start[s + 1]]
        own = flat[3 * tree.first[s] * m :]
        if rows.size > nodes:
            for i in range(nodes, rows.size):
                source, to = 3 * rows[i] * m, 3 * (i - nodes) * m
                for j in range(3 * m):
                    panel_Y[to + j] = flat[source + j]
            gemm(
                N, N, m, width, height - width, -1.0, panel_Y, m, panel[width:], height, 1.0, own, m
            )
        trsm(N, m, width, panel, height, own, m)
