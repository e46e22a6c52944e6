"""Triangular solves with the panels of a sparse Cholesky factor.

`y` and `Y` are in the elimination order, three unknowns a node; `b` and `x` as in the matrix.
Many right-hand sides are row-major, shape (3 n, m): one node is one run of memory, and BLAS sees
the column-major transpose. In panel s only the columns `low[s]` to `high[s]` are touched.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.runtime.kernels.cholesky.blas import TRIANGLE, N, T, gemm, gemv, syrk, trsm, trsv
from sofa_softctl.runtime.kernels.cholesky.symbolic import Supernodes


@njit(fastmath=True)
def solve_vector(
    tree: Supernodes,
    factor: np.ndarray,
    order: np.ndarray,
    b: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    below: np.ndarray,
) -> None:
    """x = A^-1 b at the nodes of `order`; elsewhere x is left as it is.

    Args:
        tree: Panels of L.
        factor: Numbers of the panels.
        order: Node of the matrix at each place of the elimination order, shape (n,).
        b: Right-hand side, shape (3 n_nodes,).
        x: Output, shape (3 n_nodes,).
        y: Scratch, shape (3 n,).
        below: Scratch, as long as the highest panel.
    """
    for place in range(order.size):
        for a in range(3):
            y[3 * place + a] = b[3 * order[place] + a]
    for s in range(tree.first.size - 1):
        rows, width, height, panel = _panel(tree, factor, s)
        seg = y[3 * tree.first[s] :]
        trsv(N, width, panel, height, seg)
        if height > width:
            gemv(N, height - width, width, 1.0, panel[width:], height, seg, 0.0, below)
            for i in range(width // 3, rows.size):
                for a in range(3):
                    y[3 * rows[i] + a] -= below[3 * i + a - width]
    _backward_vector(tree, factor, y, below)
    _scatter(order, y, x)


@njit(fastmath=True)
def solve_columns(
    tree: Supernodes,
    factor: np.ndarray,
    order: np.ndarray,
    b: np.ndarray,
    x: np.ndarray,
    Y: np.ndarray,
    below: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> None:
    """Run `solve_vector` for the columns of b.

    Args:
        tree, factor, order: As there.
        b: Right-hand sides, shape (3 n_nodes, m).
        x: Output, shape (3 n_nodes, m).
        Y: Scratch, shape (3 n, m).
        below: Scratch, m times as long as the highest panel.
        low, high: Scratch, shape (n_super,).
    """
    for place in range(order.size):
        for a in range(3):
            Y[3 * place + a] = b[3 * order[place] + a]
    low[:] = 0
    high[:] = Y.shape[1]
    _forward_columns(tree, factor, Y, below, low, high)
    _backward_columns(tree, factor, Y, below)
    for place in range(order.size):
        for a in range(3):
            x[3 * order[place] + a] = Y[3 * place + a]


@njit
def first_places(place: np.ndarray, row: np.ndarray, node: np.ndarray, first: np.ndarray) -> bool:
    """Find the first position of each constraint row in the elimination order.

    Args:
        place: Place of each node of the matrix, -1 if it has none, shape (n_nodes,).
        row, node: Entries of the constraint rows, shape (k,).
        first: Output, shape (n_rows,): the smallest place of each row, n_nodes if it has none.

    Returns:
        True if all rows and nodes exist.
    """
    first[:] = place.size
    for k in range(row.size):
        if not (0 <= row[k] < first.size and 0 <= node[k] < place.size):
            return False
        if place[node[k]] >= 0:
            first[row[k]] = min(first[row[k]], place[node[k]])
    return True


@njit(fastmath=True)
def forward_rows(
    tree: Supernodes,
    factor: np.ndarray,
    place: np.ndarray,
    column: np.ndarray,
    row: np.ndarray,
    node: np.ndarray,
    vector: np.ndarray,
    Y: np.ndarray,
    below: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> None:
    """Y = L^-1 P H^T for constraint rows H given by their entries.

    Args:
        tree, factor: The panels of L and their numbers.
        place: Place of each node of the matrix in the elimination order, -1 if it has none.
        column: Column of Y for each constraint row, shape (n_rows,).
        row, node, vector: H[row, node] += vector; shapes (k,), (k,), (k, 3).
        Y: Output, shape (3 n, n_rows); defined from low[s] to high[s], elsewhere it is zero in
            theory and not written.
        below: Scratch, n_rows times as long as the highest panel.
        low, high: Output, shape (n_super,).
    """
    low[:] = Y.shape[1]
    high[:] = 0
    for k in range(row.size):
        if place[node[k]] >= 0:
            s = tree.of_node[place[node[k]]]
            low[s] = min(low[s], column[row[k]])
            high[s] = max(high[s], column[row[k]] + 1)
    for s in range(tree.first.size - 1):
        Y[3 * tree.first[s] : 3 * tree.first[s + 1], low[s] : high[s]] = 0.0
        first_below = tree.row_start[s] + tree.first[s + 1] - tree.first[s]
        if first_below < tree.row_start[s + 1]:
            parent = tree.of_node[tree.rows[first_below]]
            low[parent] = min(low[parent], low[s])
            high[parent] = max(high[parent], high[s])
    for k in range(row.size):
        if place[node[k]] >= 0:
            for a in range(3):
                Y[3 * place[node[k]] + a, column[row[k]]] += vector[k, a]
    _forward_columns(tree, factor, Y, below, low, high)


@njit(fastmath=True)
def gram(
    tree: Supernodes,
    Y: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    order: np.ndarray,
    product: np.ndarray,
    W: np.ndarray,
) -> None:
    """W = Y^T Y, exactly symmetric, with rows and columns as in the constraints.

    Args:
        tree, Y, low, high: From `forward_rows`.
        order: Constraint row of each column of Y, shape (m,).
        product: Scratch, shape (m, m).
        W: Output, shape (m, m).
    """
    m = Y.shape[1]
    product[:] = 0.0
    for s in range(tree.first.size - 1):
        start, k = low[s], high[s] - low[s]
        if k > 0:
            seg = Y.reshape(-1)[3 * tree.first[s] * m + start :]
            width = 3 * (tree.first[s + 1] - tree.first[s])
            syrk(k, width, 1.0, seg, m, 1.0, product.reshape(-1)[start * (m + 1) :], m)
    for i in range(m):
        for j in range(i, m):
            W[order[i], order[j]] = W[order[j], order[i]] = product[i, j]


@njit(fastmath=True)
def solve_rows(
    tree: Supernodes,
    factor: np.ndarray,
    order: np.ndarray,
    Y: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    lam: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    below: np.ndarray,
) -> None:
    """x = A^-1 H^T lam = P^T L^-T Y lam.

    Args:
        tree, factor, order, x, y, below: As for `solve_vector`.
        Y, low, high: From `forward_rows`.
        lam: Multiplier of each column of Y, shape (m,).
    """
    for s in range(tree.first.size - 1):
        for i in range(3 * tree.first[s], 3 * tree.first[s + 1]):
            total = 0.0
            for j in range(low[s], high[s]):
                total += Y[i, j] * lam[j]
            y[i] = total
    _backward_vector(tree, factor, y, below)
    _scatter(order, y, x)


@njit
def _panel(tree: Supernodes, factor: np.ndarray, s: int) -> tuple[np.ndarray, int, int, np.ndarray]:
    """Return the nodes of the rows, width and height (in numbers), and numbers of a panel."""
    rows = tree.rows[tree.row_start[s] : tree.row_start[s + 1]]
    width = 3 * (tree.first[s + 1] - tree.first[s])
    panel = factor[tree.panel_start[s] : tree.panel_start[s + 1]]
    return rows, width, 3 * rows.size, panel


@njit
def _scatter(order: np.ndarray, y: np.ndarray, x: np.ndarray) -> None:
    """Copy a vector from the elimination order to the order of the matrix."""
    for place in range(order.size):
        for a in range(3):
            x[3 * order[place] + a] = y[3 * place + a]


@njit(fastmath=True)
def _backward_vector(
    tree: Supernodes, factor: np.ndarray, y: np.ndarray, below: np.ndarray
) -> None:
    """y = L^-T y."""
    for s in range(tree.first.size - 2, -1, -1):
        rows, width, height, panel = _panel(tree, factor, s)
        seg = y[3 * tree.first[s] :]
        if height > width:
            for i in range(width // 3, rows.size):
                for a in range(3):
                    below[3 * i + a - width] = y[3 * rows[i] + a]
            gemv(T, height - width, width, -1.0, panel[width:], height, below, 1.0, seg)
        trsv(T, width, panel, height, seg)


@njit(fastmath=True)
def _forward_columns(
    tree: Supernodes,
    factor: np.ndarray,
    Y: np.ndarray,
    below: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> None:
    """Y = L^-1 Y."""
    m = Y.shape[1]
    flat = Y.reshape(-1)
    for s in range(tree.first.size - 1):
        start, k = low[s], high[s] - low[s]
        if k <= 0:
            continue
        rows, width, height, panel = _panel(tree, factor, s)
        seg = flat[3 * tree.first[s] * m + start :]
        one_run = rows[-1] - rows[0] == rows.size - 1  # then the rows below are next in Y too
        end = height if one_run else width
        for j in range(0, width, TRIANGLE):
            n = min(TRIANGLE, width - j)
            L, columns = panel[j * (height + 1) :], seg[j * m :]
            trsm(T, k, n, L, height, columns, m)
            if end > j + n:
                left = end - j - n
                gemm(N, T, k, left, n, -1.0, columns, m, L[n:], height, 1.0, columns[n * m :], m)
        if height > end:
            gemm(N, T, k, height - width, width, 1.0, seg, m, panel[width:], height, 0.0, below, k)
            for i in range(width // 3, rows.size):
                for a in range(3):
                    to = (3 * rows[i] + a) * m + start
                    source = (3 * i + a - width) * k
                    for c in range(k):
                        flat[to + c] -= below[source + c]


@njit(fastmath=True)
def _backward_columns(
    tree: Supernodes, factor: np.ndarray, Y: np.ndarray, below: np.ndarray
) -> None:
    """Y = L^-T Y."""
    m = Y.shape[1]
    flat = Y.reshape(-1)
    for s in range(tree.first.size - 2, -1, -1):
        rows, width, height, panel = _panel(tree, factor, s)
        seg = flat[3 * tree.first[s] * m :]
        if height > width:
            if rows[-1] - rows[0] == rows.size - 1:  # the rows below are next in Y too
                later = seg[width * m :]
            else:
                later = below
                for i in range(width // 3, rows.size):
                    source, to = 3 * rows[i] * m, (3 * i - width) * m
                    for c in range(3 * m):
                        below[to + c] = flat[source + c]
            gemm(N, N, m, width, height - width, -1.0, later, m, panel[width:], height, 1.0, seg, m)
        trsm(N, m, width, panel, height, seg, m)
