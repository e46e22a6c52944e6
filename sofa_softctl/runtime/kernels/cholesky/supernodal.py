"""Numerical sparse Cholesky factorisation A = L L^T, panel by panel (left-looking).

Dense work is BLAS on the panels of `Supernodes`. Right-hand sides are row-major, so that one node
is one run of memory; for BLAS they are column-major transposes. Vectors here are in the
elimination order, three unknowns a node.

Source: Ng, Peyton 1993 (supernodal left-looking factorisation); Davis 2006, chapters 3 and 4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.runtime.kernels.cholesky.blas import TRIANGLE, N, T, gemm, potrf, syrk, trsm
from sofa_softctl.runtime.kernels.cholesky.symbolic import BlockMap, Supernodes

FULL_PRODUCT_WIDTH = 64  # up to it a full square is faster than its lower triangle, measured


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


@njit(fastmath=True)
def factorize(
    tree: Supernodes, blocks: BlockMap, values: np.ndarray, factor: np.ndarray, work: Workspace
) -> bool:
    """Compute L from the blocks of the matrix.

    Args:
        tree, blocks: Results of `analyse`.
        values: Blocks of the matrix, shape (n_blocks, 3, 3).
        factor: Output, the panels of L; NaN everywhere if the matrix is not positive definite.
        work: Scratch.

    Returns:
        True if each pivot is positive beyond its rounding error.
    """
    work.pending[:] = -1
    for s in range(tree.first.size - 1):
        _fill_panel(tree, blocks, values, factor, work, s)
        descendant = work.pending[s]
        while descendant != -1:
            following = work.next_pending[descendant]
            _subtract_update(tree, factor, work, descendant, s)
            descendant = following
        if not _factorize_panel(tree, factor, work, s):
            factor[:] = np.nan
            return False
        work.progress[s] = tree.first[s + 1] - tree.first[s]
        _queue(tree, work, s)
    return True


@njit(fastmath=True)
def _fill_panel(
    tree: Supernodes,
    blocks: BlockMap,
    values: np.ndarray,
    factor: np.ndarray,
    work: Workspace,
    s: int,
) -> None:
    """Fill in a panel of A; store its diagonal and the row of each node in `work`."""
    rows = tree.rows[tree.row_start[s] : tree.row_start[s + 1]]
    height = 3 * rows.size
    factor[tree.panel_start[s] : tree.panel_start[s + 1]] = 0.0
    for k in range(blocks.start[s], blocks.start[s + 1]):
        block = values[blocks.source[k]]
        target = blocks.target[k]
        if blocks.transposed[k]:
            for i in range(3):
                for j in range(3):
                    factor[target + j * height + i] = block[j, i]
        else:
            for i in range(3):
                for j in range(3):
                    factor[target + j * height + i] = block[i, j]
    for i in range(rows.size):
        work.row_in_panel[rows[i]] = 3 * i
    for column in range(3 * (tree.first[s + 1] - tree.first[s])):
        work.diagonal[column] = factor[tree.panel_start[s] + column * (height + 1)]


@njit(fastmath=True)
def _subtract_update(
    tree: Supernodes, factor: np.ndarray, work: Workspace, descendant: int, s: int
) -> None:
    """Subtract L[k1:] L[k1:k2]^T of a descendant, whose rows k1:k2 are nodes of s, from panel s."""
    rows = tree.rows[tree.row_start[descendant] : tree.row_start[descendant + 1]]
    k1 = k2 = work.progress[descendant]
    while k2 < rows.size and rows[k2] < tree.first[s + 1]:
        k2 += 1
    work.progress[descendant] = k2
    _queue(tree, work, descendant)

    width = 3 * (tree.first[descendant + 1] - tree.first[descendant])
    top, m = 3 * (k2 - k1), 3 * (rows.size - k1)
    ld = 3 * rows.size
    L = factor[tree.panel_start[descendant] + 3 * k1 :]
    panel = factor[tree.panel_start[s] : tree.panel_start[s + 1]]
    height = 3 * (tree.row_start[s + 1] - tree.row_start[s])
    corner = work.row_in_panel[rows[k1]]
    if work.row_in_panel[rows[-1]] == corner + m - 3:  # the rows are one run in panel s too
        _add_product(top, m, width, -1.0, L, ld, 1.0, panel[corner * (height + 1) :], height)
        return
    _add_product(top, m, width, 1.0, L, ld, 0.0, work.update, m)
    for j in range(k1, k2):
        for a in range(3):
            target_column = (work.row_in_panel[rows[j]] + a) * height
            column = (3 * (j - k1) + a) * m
            for i in range(j, rows.size):
                target = target_column + work.row_in_panel[rows[i]]
                source = column + 3 * (i - k1)
                panel[target] -= work.update[source]
                panel[target + 1] -= work.update[source + 1]
                panel[target + 2] -= work.update[source + 2]


@njit(fastmath=True)
def _add_product(
    top: int,
    m: int,
    width: int,
    alpha: float,
    L: np.ndarray,
    ld: int,
    beta: float,
    c: np.ndarray,
    ld_c: int,
) -> None:
    """C (m x top) = alpha L L[:top]^T + beta C, L m x width; not defined above C's diagonal."""
    if top <= FULL_PRODUCT_WIDTH:
        gemm(N, T, m, top, width, alpha, L, ld, L, ld, beta, c, ld_c)
    else:
        syrk(top, width, alpha, L, ld, beta, c, ld_c)
        gemm(N, T, m - top, top, width, alpha, L[top:], ld, L, ld, beta, c[top:], ld_c)


@njit(fastmath=True)
def _factorize_panel(tree: Supernodes, factor: np.ndarray, work: Workspace, s: int) -> bool:
    """Factorise a panel densely: a few columns at a time, then their update of later ones."""
    width = 3 * (tree.first[s + 1] - tree.first[s])
    height = 3 * (tree.row_start[s + 1] - tree.row_start[s])
    panel = factor[tree.panel_start[s] : tree.panel_start[s + 1]]
    for start in range(0, width, TRIANGLE):
        n = min(TRIANGLE, width - start)
        corner = panel[start * (height + 1) :]
        if potrf(n, corner, height) != 0:
            return False
        below, right = height - start - n, width - start - n
        if below > 0:
            L = corner[n:]
            trsm(T, below, n, corner, height, L, height)
            _add_product(right, below, n, -1.0, L, height, 1.0, corner[n * (height + 1) :], height)
    tolerance = 3 * tree.of_node.size * np.finfo(np.float64).eps
    for column in range(width):
        pivot = panel[column * (height + 1)]
        if not pivot * pivot > tolerance * work.diagonal[column]:  # a NaN fails too
            return False
    return True


@njit
def _queue(tree: Supernodes, work: Workspace, s: int) -> None:
    """Add panel s to the list of the panel that its next rows belong to."""
    row = tree.row_start[s] + work.progress[s]
    if row < tree.row_start[s + 1]:
        owner = tree.of_node[tree.rows[row]]
        work.next_pending[s] = work.pending[owner]
        work.pending[owner] = s
