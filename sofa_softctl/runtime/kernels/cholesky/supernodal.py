"""Numerical sparse Cholesky factorisation A = L L^T, panel by panel (left-looking).

Dense work is BLAS on the panels of `Supernodes`. Right-hand sides are row-major, so that one node
is one run of memory; for BLAS they are column-major transposes. Vectors here are in the
elimination order, three unknowns a node.

Kernels of many small panels are slow in unexpected places. Arrays are given with an index, since
numba counts references to each slice. Indices of inner loops are unsigned: to a signed one numba
adds the array's length if it is negative, which keeps LLVM from using vectors.

Source: Ng, Peyton 1993 (supernodal left-looking factorisation); Davis 2006, chapters 3 and 4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.base.machine import run_in_threads
from sofa_softctl.runtime.kernels.cholesky.blas import TRIANGLE, N, T, gemm, syrk
from sofa_softctl.runtime.kernels.cholesky.symbolic import Analysis, BlockMap, Supernodes

FULL_PRODUCT_WIDTH = 64  # up to it a full square is faster than its lower triangle, measured
# Columns of a panel that are factorised one node after the other, before gemm updates later ones.
# Measured against potrf and trsm of OpenBLAS: 0.6 of their time in panels of 6 to 24 columns.
NARROW = 6


class Workspace(NamedTuple):
    """Scratch memory of `factorize`."""

    update: np.ndarray
    """Update of one panel by another, shape (Analysis.update_size,)."""
    row_in_panel: np.ndarray
    """Row of each node in the present panel, counted in numbers, shape (n,)."""
    diagonal: np.ndarray
    """Diagonal of the present panel before the updates, shape (3 n,)."""
    pending: np.ndarray
    """First panel whose next update goes to each panel, or -1; shape (n_super,)."""
    next_pending: np.ndarray
    """Next panel in the list of each of these, or -1; shape (n_super,)."""
    progress: np.ndarray
    """Number of rows of each panel whose update is done, shape (n_super,)."""


class Factorization:
    """Factorises panels in independent subtrees of the elimination, one thread each, then the rest.

    The subtrees and the order of all sums are the same with one thread.
    """

    def __init__(self, analysis: Analysis) -> None:
        self.tree, self.blocks, self.groups = analysis.supernodes, analysis.blocks, analysis.groups
        n, n_super = analysis.order.size, analysis.supernodes.first.size - 1
        next_pending, progress = np.empty((2, n_super), np.int64)  # entries of the group's panels
        self._work = [
            Workspace(
                update=np.empty(analysis.update_size),
                row_in_panel=np.empty(n, np.int64),
                diagonal=np.empty(3 * n),
                pending=np.empty(n_super, np.int64),
                next_pending=next_pending,
                progress=progress,
            )
            for _ in self.groups.subtrees
        ]

    def compute(self, values: np.ndarray, factor: np.ndarray) -> bool:
        """Compute L.

        Args:
            values: Blocks of the matrix, shape (n_blocks, 3, 3).
            factor: Output, the panels of L; NaN everywhere if the matrix is not positive definite.

        Returns:
            True if each pivot is positive beyond its rounding error.
        """
        groups, rest = self.groups.subtrees, self.groups.rest
        for work in self._work:
            work.pending[:] = -1
        problem = (self.tree, self.blocks, values, factor)
        pairs = zip(self._work, groups, strict=True)
        is_definite = all(run_in_threads(factorize, [(*problem, *pair) for pair in pairs]))
        if is_definite and rest.size:
            first, *further_work = self._work
            for work in further_work:
                append_pending(first.pending, work.pending, first.next_pending, rest)
            is_definite = factorize(*problem, first, rest)
        if not is_definite:
            factor[:] = np.nan
        return is_definite


@njit(fastmath=True, nogil=True)
def factorize(
    tree: Supernodes,
    blocks: BlockMap,
    values: np.ndarray,
    factor: np.ndarray,
    work: Workspace,
    panels: np.ndarray,
) -> bool:
    """Compute panels of L from the blocks of the matrix.

    Args:
        tree, blocks: Results of `analyse`.
        values: Blocks of the matrix, shape (n_blocks, 3, 3).
        factor: Output, the panels of L.
        work: Scratch; its `pending` lists earlier panels that update these, and others that these
            update.
        panels: Panels to compute, ascending.

    Returns:
        True if each pivot is positive beyond its rounding error.
    """
    first, of_node, row_start, rows, panel_start = tree
    update, row_in_panel, diagonal, pending, next_pending, progress = work
    for s in panels:
        begin, end, panel = row_start[s], row_start[s + 1], panel_start[s]
        width, height = 3 * (first[s + 1] - first[s]), 3 * (end - begin)
        factor[panel : panel_start[s + 1]] = 0.0
        _fill_panel(blocks.start[s], blocks.start[s + 1], blocks, values, factor, height)
        for i in range(begin, end):
            row_in_panel[rows[i]] = 3 * (i - begin)
        for column in range(width):
            diagonal[column] = factor[panel + column * (height + 1)]
        d = pending[s]
        while d != -1:
            following = next_pending[d]
            k0, k_end = row_start[d], row_start[d + 1]
            k1 = k2 = k0 + progress[d]
            while k2 < k_end and rows[k2] < first[s + 1]:
                k2 += 1
            progress[d] = k2 - k0
            if k2 < k_end:
                owner = of_node[rows[k2]]
                next_pending[d], pending[owner] = pending[owner], d
            L, ld, k = (
                panel_start[d] + 3 * (k1 - k0),
                3 * (k_end - k0),
                3 * (first[d + 1] - first[d]),
            )
            product = (L, ld, k)
            _subtract_update(
                rows, row_in_panel, k1, k2, k_end, product, factor, panel, height, update
            )
            d = following
        if not _factorize_panel(factor, panel, width, height, diagonal, 3 * of_node.size):
            return False
        progress[s] = width // 3
        if 3 * (end - begin) > width:
            owner = of_node[rows[begin + progress[s]]]
            next_pending[s], pending[owner] = pending[owner], s
    return True


@njit
def append_pending(
    pending: np.ndarray, later: np.ndarray, next_pending: np.ndarray, panels: np.ndarray
) -> None:
    """Append the list `later` of each of these panels to the list `pending`."""
    for s in panels:
        if pending[s] == -1:
            pending[s] = later[s]
            continue
        last = pending[s]
        while next_pending[last] != -1:
            last = next_pending[last]
        next_pending[last] = later[s]


@njit(fastmath=True)
def _fill_panel(
    start: int,
    end: int,
    blocks: BlockMap,
    values: np.ndarray,
    factor: np.ndarray,
    height: int,
) -> None:
    """Copy the blocks start:end of A into their panel."""
    h, nodes = np.uint64(height), range(np.uint64(3))
    for k in range(start, end):
        block, target = np.uint64(blocks.source[k]), np.uint64(blocks.target[k])
        if blocks.transposed[k]:
            for i in nodes:
                for j in nodes:
                    factor[target + j * h + i] = values[block, j, i]
        else:
            for i in nodes:
                for j in nodes:
                    factor[target + j * h + i] = values[block, i, j]


@njit(fastmath=True)
def _subtract_update(
    rows: np.ndarray,
    row_in_panel: np.ndarray,
    k1: int,
    k2: int,
    end: int,
    product: tuple[int, int, int],
    factor: np.ndarray,
    panel: int,
    height: int,
    update: np.ndarray,
) -> None:
    """Subtract L[k1:] L[k1:k2]^T of an earlier panel from a later one.

    Args:
        rows: Rows of all panels; those of the earlier one end at `end`.
        row_in_panel: Row of each node in the later panel, in numbers.
        k1, k2, end: Rows from k1 to k2 are columns of the later panel, those to the end its rows.
        product: First number, leading dimension and columns of L[k1:].
        factor: Numbers of all panels.
        panel, height: First number and height of the later panel.
        update: Scratch.
    """
    L, ld, width = product
    top, m = 3 * (k2 - k1), 3 * (end - k1)
    corner = row_in_panel[rows[k1]]
    if row_in_panel[rows[end - 1]] == corner + m - 3:  # the rows are one run there too
        target = panel + corner * (height + 1)
        _add_product(top, m, width, -1.0, factor, L, ld, 1.0, factor, target, height)
        return
    _add_product(top, m, width, 1.0, factor, L, ld, 0.0, update, 0, m)
    h, stride, numbers = np.uint64(height), np.uint64(m), range(np.uint64(3))
    for j in range(k1, k2):
        column = 3 * (j - k1) * m
        first = panel + row_in_panel[rows[np.uint64(j)]] * height
        for i in range(j, end):
            source = np.uint64(column + 3 * (i - k1))
            target = np.uint64(first + row_in_panel[np.uint64(rows[np.uint64(i)])])
            for a in numbers:
                for b in numbers:
                    factor[target + a * h + b] -= update[source + a * stride + b]


@njit(fastmath=True)
def _add_product(
    top: int,
    m: int,
    width: int,
    alpha: float,
    factor: np.ndarray,
    L: int,
    ld: int,
    beta: float,
    c: np.ndarray,
    c0: int,
    ld_c: int,
) -> None:
    """C (m x top) = alpha L L[:top]^T + beta C, L m x width; not defined above C's diagonal."""
    if top <= FULL_PRODUCT_WIDTH:
        gemm(N, T, m, top, width, alpha, factor, L, ld, factor, L, ld, beta, c, c0, ld_c)
    else:
        syrk(top, width, alpha, factor, L, ld, beta, c, c0, ld_c)
        if m > top:
            below, k = L + top, m - top
            gemm(
                N,
                T,
                k,
                top,
                width,
                alpha,
                factor,
                below,
                ld,
                factor,
                L,
                ld,
                beta,
                c,
                c0 + top,
                ld_c,
            )


@njit(fastmath=True)
def _factorize_panel(
    factor: np.ndarray, panel: int, width: int, height: int, diagonal: np.ndarray, size: int
) -> bool:
    """Factorise a panel densely: a few columns at a time, then their update of later ones."""
    for start in range(0, width, TRIANGLE):
        end = min(start + TRIANGLE, width)
        for begin in range(start, end, NARROW):
            next_begin = min(begin + NARROW, end)
            for column in range(begin, next_begin, 3):
                if not _factorize_node(factor, panel, height, begin, column):
                    return False
            _update_columns(factor, panel, height, begin, next_begin, end)
        _update_columns(factor, panel, height, start, end, width)
    tolerance = size * np.finfo(np.float64).eps
    for column in range(width):
        pivot = factor[panel + column * (height + 1)]
        if not pivot * pivot > tolerance * diagonal[column]:  # a NaN fails too
            return False
    return True


@njit(fastmath=True)
def _update_columns(
    factor: np.ndarray, panel: int, height: int, start: int, end: int, last: int
) -> None:
    """Subtract from the columns end:last of a panel what the columns start:end contribute."""
    if last > end:
        L, target = panel + start * height + end, panel + end * (height + 1)
        k, m = end - start, height - end
        _add_product(last - end, m, k, -1.0, factor, L, height, 1.0, factor, target, height)


@njit(fastmath=True)
def _factorize_node(factor: np.ndarray, panel: int, height: int, begin: int, column: int) -> bool:
    """Factorise the three columns of a node, after subtracting the columns from `begin` on."""
    c0 = panel + column * height
    c1, c2 = c0 + height, c0 + 2 * height
    u0, u1, u2 = np.uint64(c0), np.uint64(c1), np.uint64(c2)
    rows = range(np.uint64(column), np.uint64(height))
    for k in range(begin, column, 3):
        a0 = panel + k * height
        a1, a2 = a0 + height, a0 + 2 * height
        j = column
        b00, b01, b02 = factor[a0 + j], factor[a0 + j + 1], factor[a0 + j + 2]
        b10, b11, b12 = factor[a1 + j], factor[a1 + j + 1], factor[a1 + j + 2]
        b20, b21, b22 = factor[a2 + j], factor[a2 + j + 1], factor[a2 + j + 2]
        v0, v1, v2 = np.uint64(a0), np.uint64(a1), np.uint64(a2)
        for i in rows:
            x0, x1, x2 = factor[v0 + i], factor[v1 + i], factor[v2 + i]
            factor[u0 + i] -= x0 * b00 + x1 * b10 + x2 * b20
            factor[u1 + i] -= x0 * b01 + x1 * b11 + x2 * b21
            factor[u2 + i] -= x0 * b02 + x1 * b12 + x2 * b22
    pivot0 = factor[c0 + column]
    inverse0 = 1.0 / np.sqrt(pivot0)
    l10, l20 = factor[c0 + column + 1] * inverse0, factor[c0 + column + 2] * inverse0
    pivot1 = factor[c1 + column + 1] - l10 * l10
    inverse1 = 1.0 / np.sqrt(pivot1)
    l21 = (factor[c1 + column + 2] - l20 * l10) * inverse1
    pivot2 = factor[c2 + column + 2] - l20 * l20 - l21 * l21
    inverse2 = 1.0 / np.sqrt(pivot2)
    if not (pivot0 > 0.0 and pivot1 > 0.0 and pivot2 > 0.0):
        return False
    for i in rows:
        x0 = factor[u0 + i] * inverse0
        x1 = (factor[u1 + i] - x0 * l10) * inverse1
        factor[u0 + i], factor[u1 + i] = x0, x1
        factor[u2 + i] = (factor[u2 + i] - x0 * l20 - x1 * l21) * inverse2
    return True
