"""Triangular solves with the panels of a sparse Cholesky factor.

`y` and `Y` are in the elimination order, three unknowns a node; `b` and `x` as in the matrix.
Many right-hand sides are row-major, shape (3 n, m): one node is one run of memory, and BLAS sees
the column-major transpose. In panel s only the columns `low[s]` to `high[s]` are touched.

Indices of inner loops are unsigned, see `supernodal`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.base.machine import run_in_threads
from sofa_softctl.runtime.kernels.cholesky.blas import TRIANGLE, N, T, gemm, syrk, trsm
from sofa_softctl.runtime.kernels.cholesky.symbolic import Groups, Supernodes


class GroupedSubstitution:
    """Triangular solves in two independent subtrees, one thread each, then in the other panels.

    The subtrees and the order of all sums are the same with one thread. The second subtree has a
    vector of its own, whose sums in the unknowns of the other panels are added.
    """

    def __init__(self, tree: Supernodes, groups: Groups, height: int) -> None:
        self._tree, self._rest = tree, groups.rest
        self._subtrees = groups.subtrees
        self._second, self._above = (
            _unknowns(tree, part) for part in (self._subtrees[1], self._rest)
        )
        self._scratch = np.empty((2, height))

    def forward(self, factor: np.ndarray, y: np.ndarray) -> None:
        """y = L^-1 y, shape (3 n,)."""
        self._run_forward(forward_vector, factor, y, list(self._scratch), ())

    def forward_columns(
        self,
        factor: np.ndarray,
        Y: np.ndarray,
        below: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
    ) -> None:
        """Y = L^-1 Y; see `forward_columns`."""
        self._run_forward(forward_columns, factor, Y, [below, np.empty_like(below)], (low, high))

    def backward(self, factor: np.ndarray, y: np.ndarray) -> None:
        """y = L^-T y, shape (3 n,)."""
        problem = (self._tree, factor, y)
        backward_vector(*problem, self._scratch[0], self._rest)
        pairs = zip(self._scratch, self._subtrees, strict=True)
        run_in_threads(backward_vector, [(*problem, *pair) for pair in pairs])

    def _run_forward(
        self,
        kernel: Callable[..., None],
        factor: np.ndarray,
        y: np.ndarray,
        scratch: list[np.ndarray],
        columns: tuple[np.ndarray, ...],
    ) -> None:
        other = np.empty_like(y)
        other[self._second], other[self._above] = y[self._second], 0.0
        groups = zip((y, other), scratch, self._subtrees, strict=True)
        problem = (self._tree, factor)
        run_in_threads(kernel, [(*problem, *group[:2], *columns, group[2]) for group in groups])
        y[self._second] = other[self._second]
        y[self._above] += other[self._above]
        kernel(self._tree, factor, y, scratch[0], *columns, self._rest)


def _unknowns(tree: Supernodes, panels: np.ndarray) -> np.ndarray:
    """Return the unknowns that are columns of some panels."""
    first, end = 3 * tree.first[panels], 3 * tree.first[panels + 1]
    return np.concatenate([np.empty(0, np.int64), *map(np.arange, first, end)])


@njit(fastmath=True)
def solve_vector(
    tree: Supernodes,
    factor: np.ndarray,
    order: np.ndarray,
    b: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    column: np.ndarray,
    panels: np.ndarray,
) -> None:
    """x = A^-1 b at the nodes of `order`; elsewhere x is left as it is.

    Args:
        tree: Panels of L.
        factor: Numbers of the panels.
        order: Node of the matrix at each place of the elimination order, shape (n,).
        b: Right-hand side, shape (3 n_nodes,).
        x: Output, shape (3 n_nodes,).
        y: Scratch, shape (3 n,).
        column: Scratch, as long as the highest panel.
        panels: All panels, ascending.
    """
    gather(order, b, y)
    forward_vector(tree, factor, y, column, panels)
    backward_vector(tree, factor, y, column, panels)
    scatter(order, y, x)


@njit(fastmath=True, nogil=True)
def forward_vector(
    tree: Supernodes, factor: np.ndarray, y: np.ndarray, column: np.ndarray, panels: np.ndarray
) -> None:
    """y = L^-1 y for the columns of some panels, which follow all that they depend on.

    Args:
        tree, factor, column: As for `solve_vector`.
        y: Vector, shape (3 n,).
        panels: Panels, ascending.
    """
    first, _, row_start, rows, panel_start = tree
    for s in panels:
        begin, end = row_start[s], row_start[s + 1]
        height, panel = 3 * (end - begin), panel_start[s]
        for i in range(begin, end):
            for a in range(3):
                column[3 * (i - begin) + a] = y[3 * rows[i] + a]
        for j in range(0, 3 * (first[s + 1] - first[s]), 3):
            c0 = panel + j * height
            c1, c2 = c0 + height, c0 + 2 * height
            x0 = column[j] / factor[c0 + j]
            x1 = (column[j + 1] - factor[c0 + j + 1] * x0) / factor[c1 + j + 1]
            x2 = column[j + 2] - factor[c0 + j + 2] * x0 - factor[c1 + j + 2] * x1
            x2 /= factor[c2 + j + 2]
            column[j], column[j + 1], column[j + 2] = x0, x1, x2
            u0, u1, u2 = np.uint64(c0), np.uint64(c1), np.uint64(c2)
            for i in range(np.uint64(j + 3), np.uint64(height)):
                column[i] -= factor[u0 + i] * x0 + factor[u1 + i] * x1 + factor[u2 + i] * x2
        for i in range(begin, end):
            for a in range(3):
                y[3 * rows[i] + a] = column[3 * (i - begin) + a]


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
    forward_columns(tree, factor, Y, below, low, high, np.arange(tree.first.size - 1))
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
    panels: np.ndarray,
) -> None:
    """Y = L^-1 P H^T for constraint rows H given by their entries; see `fill_rows`."""
    fill_rows(tree, place, column, row, node, vector, Y, low, high)
    forward_columns(tree, factor, Y, below, low, high, panels)


@njit
def fill_rows(
    tree: Supernodes,
    place: np.ndarray,
    column: np.ndarray,
    row: np.ndarray,
    node: np.ndarray,
    vector: np.ndarray,
    Y: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> None:
    """Y = P H^T for constraint rows H given by their entries, zero where L^-1 Y is not.

    Args:
        tree: The panels of L.
        place: Place of each node of the matrix in the elimination order, -1 if it has none.
        column: Column of Y for each constraint row, shape (n_rows,).
        row, node, vector: H[row, node] += vector; shapes (k,), (k,), (k, 3).
        Y: Output, shape (3 n, n_rows); defined from low[s] to high[s], elsewhere it is zero in
            theory and not written.
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
    flat, out = Y.reshape(-1), product.reshape(-1)
    product[:] = 0.0
    for s in range(tree.first.size - 1):
        start, k = low[s], high[s] - low[s]
        if k > 0:
            first, width, _, _ = _panel(tree, s)
            syrk(k, width, 1.0, flat, first * m + start, m, 1.0, out, start * (m + 1), m)
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
    column: np.ndarray,
    panels: np.ndarray,
) -> None:
    """x = A^-1 H^T lam = P^T L^-T Y lam.

    Args:
        tree, factor, order, x, y, column, panels: As for `solve_vector`.
        Y, low, high: From `forward_rows`.
        lam: Multiplier of each column of Y, shape (m,).
    """
    multiply_rows(tree, Y, low, high, lam, y)
    backward_vector(tree, factor, y, column, panels)
    scatter(order, y, x)


@njit(fastmath=True)
def multiply_rows(
    tree: Supernodes,
    Y: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    lam: np.ndarray,
    y: np.ndarray,
) -> None:
    """y = Y lam; arguments as for `solve_rows`."""
    for s in range(tree.first.size - 1):
        columns = range(np.uint64(low[s]), np.uint64(max(low[s], high[s])))
        for i in range(np.uint64(3 * tree.first[s]), np.uint64(3 * tree.first[s + 1])):
            total = 0.0
            for j in columns:
                total += Y[i, j] * lam[j]
            y[i] = total


@njit
def _panel(tree: Supernodes, s: int) -> tuple[int, int, int, int]:
    """Return first unknown, width, height and first number of a panel."""
    width = 3 * (tree.first[s + 1] - tree.first[s])
    height = 3 * (tree.row_start[s + 1] - tree.row_start[s])
    return 3 * tree.first[s], width, height, tree.panel_start[s]


@njit
def _is_one_run(tree: Supernodes, s: int) -> bool:
    """Return True if the rows of a panel follow each other without a gap."""
    first, end = tree.row_start[s], tree.row_start[s + 1]
    return bool(tree.rows[end - 1] - tree.rows[first] == end - 1 - first)


@njit
def gather(order: np.ndarray, b: np.ndarray, y: np.ndarray) -> None:
    """Copy a vector from the order of the matrix to the elimination order."""
    for place in range(order.size):
        for a in range(3):
            y[3 * place + a] = b[3 * order[place] + a]


@njit
def scatter(order: np.ndarray, y: np.ndarray, x: np.ndarray) -> None:
    """Copy a vector from the elimination order to the order of the matrix."""
    for place in range(order.size):
        for a in range(3):
            x[3 * order[place] + a] = y[3 * place + a]


@njit(fastmath=True, nogil=True)
def backward_vector(
    tree: Supernodes, factor: np.ndarray, y: np.ndarray, column: np.ndarray, panels: np.ndarray
) -> None:
    """y = L^-T y for the columns of some panels, after those above them; see `forward_vector`."""
    first, _, row_start, rows, panel_start = tree
    for s in panels[::-1]:
        begin, end = row_start[s], row_start[s + 1]
        height, panel = 3 * (end - begin), panel_start[s]
        width = 3 * (first[s + 1] - first[s])
        for i in range(begin, end):
            for a in range(3):
                column[3 * (i - begin) + a] = y[3 * rows[i] + a]
        for j in range(width - 3, -1, -3):
            c0 = panel + j * height
            c1, c2 = c0 + height, c0 + 2 * height
            x0 = x1 = x2 = 0.0
            u0, u1, u2 = np.uint64(c0), np.uint64(c1), np.uint64(c2)
            for i in range(np.uint64(j + 3), np.uint64(height)):
                x0 += factor[u0 + i] * column[i]
                x1 += factor[u1 + i] * column[i]
                x2 += factor[u2 + i] * column[i]
            x2 = (column[j + 2] - x2) / factor[c2 + j + 2]
            x1 = (column[j + 1] - x1 - factor[c1 + j + 2] * x2) / factor[c1 + j + 1]
            x0 = column[j] - x0 - factor[c0 + j + 1] * x1 - factor[c0 + j + 2] * x2
            x0 /= factor[c0 + j]
            column[j], column[j + 1], column[j + 2] = x0, x1, x2
        for i in range(width):
            y[3 * first[s] + i] = column[i]


@njit(fastmath=True, nogil=True)
def forward_columns(
    tree: Supernodes,
    factor: np.ndarray,
    Y: np.ndarray,
    below: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    panels: np.ndarray,
) -> None:
    """Y = L^-1 Y for the columns of some panels of L, as `forward_vector`."""
    m = Y.shape[1]
    flat = Y.reshape(-1)
    for s in panels:
        start, k = low[s], high[s] - low[s]
        if k <= 0:
            continue
        first, width, height, panel = _panel(tree, s)
        begin = first * m + start
        end = height if _is_one_run(tree, s) else width  # then the rows below are next in Y too
        for j in range(0, width, TRIANGLE):
            n = min(TRIANGLE, width - j)
            L, columns = panel + j * (height + 1), begin + j * m
            trsm(T, k, n, factor, L, height, flat, columns, m)
            if end > j + n:
                left, later = end - j - n, columns + n * m
                gemm(
                    N, T, k, left, n, -1.0, flat, columns, m, factor, L + n, height, 1.0, flat,
                    later, m,
                )  # fmt: skip
        if height > end:
            left, L = height - width, panel + width
            gemm(N, T, k, left, width, 1.0, flat, begin, m, factor, L, height, 0.0, below, 0, k)
            first_row = tree.row_start[s] + width // 3
            for i in range(first_row, tree.row_start[s + 1]):
                for a in range(3):
                    to = np.uint64((3 * tree.rows[i] + a) * m + start)
                    source = np.uint64((3 * (i - first_row) + a) * k)
                    for c in range(np.uint64(k)):
                        flat[to + c] -= below[source + c]


@njit(fastmath=True)
def _backward_columns(
    tree: Supernodes, factor: np.ndarray, Y: np.ndarray, below: np.ndarray
) -> None:
    """Y = L^-T Y."""
    m = Y.shape[1]
    flat = Y.reshape(-1)
    for s in range(tree.first.size - 2, -1, -1):
        first, width, height, panel = _panel(tree, s)
        begin, left, L = first * m, height - width, panel + width
        if left > 0 and _is_one_run(tree, s):  # then the rows below are next in Y too
            later = begin + width * m
            gemm(N, N, m, width, left, -1.0, flat, later, m, factor, L, height, 1.0, flat, begin, m)
        elif left > 0:
            first_row = tree.row_start[s] + width // 3
            for i in range(first_row, tree.row_start[s + 1]):
                source, to = np.uint64(3 * tree.rows[i] * m), np.uint64(3 * (i - first_row) * m)
                for c in range(np.uint64(3 * m)):
                    below[to + c] = flat[source + c]
            gemm(N, N, m, width, left, -1.0, below, 0, m, factor, L, height, 1.0, flat, begin, m)
        trsm(N, m, width, factor, panel, height, flat, begin, m)
