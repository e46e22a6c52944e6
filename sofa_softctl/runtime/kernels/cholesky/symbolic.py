"""Symbolic sparse Cholesky factorisation: the fill of L.

All counts are in nodes of three unknowns. Nodes are numbered by their place in the elimination
order, except for nodes "of the matrix".

Source: Davis, Direct Methods for Sparse Linear Systems, SIAM 2006, chapter 4; supernodes and their
relaxed amalgamation after Chen, Davis, Hager, Rajamanickam 2008 (CHOLMOD).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.base.jit import njit
from sofa_softctl.runtime.kernels.cholesky.block_matrix import BlockPattern
from sofa_softctl.runtime.kernels.cholesky.ordering import (
    Elimination,
    burn_at_both_ends,
    candidate_eliminations,
    eliminate_in_runs,
    nested_dissection,
)

PARALLEL_FLOPS_MIN = 1e8
"""Operations of a factorisation below which a second thread is not used: some milliseconds."""


class Supernodes(NamedTuple):
    """Runs of columns of L with (nearly) the same rows, each stored as one dense panel.

    A panel is column-major. Its rows are the supernode's own nodes and, below them, the later
    nodes that these touch.
    """

    first: np.ndarray
    """First node of each supernode, shape (n_super + 1,)."""
    of_node: np.ndarray
    """Supernode of each node, shape (n,)."""
    row_start: np.ndarray
    """Index in `rows` of the first row of each panel, shape (n_super + 1,)."""
    rows: np.ndarray
    """Nodes that are the rows of the panels, ascending in each, shape (row_start[-1],)."""
    panel_start: np.ndarray
    """Index of the first number of each panel in L, shape (n_super + 1,)."""


class BlockMap(NamedTuple):
    """Position of the matrix' blocks in L, in the order of L."""

    start: np.ndarray
    """First block of each supernode, shape (n_super + 1,)."""
    source: np.ndarray
    """Index of the block in the values of the matrix, shape (k,)."""
    target: np.ndarray
    """Position of the block's first number in L, shape (k,)."""
    transposed: np.ndarray
    """True if the block is transposed, shape (k,)."""


@dataclass(frozen=True)
class Groups:
    """Panels that can be factorised at the same time."""

    subtrees: tuple[np.ndarray, ...]
    """Panels of independent subtrees of about equal work, ascending; all panels in one group if
    they are too small or too dependent."""
    rest: np.ndarray
    """Panels after these, ascending."""


@dataclass(frozen=True)
class Analysis:
    """Symbolic factorisation of a pattern, valid for all values."""

    order: np.ndarray
    """Node of the matrix at each place of the elimination order, shape (n,)."""
    supernodes: Supernodes
    """The panels of L."""
    blocks: BlockMap
    """Map from the blocks of the matrix to the panels."""
    groups: Groups
    """Panels of two threads."""
    update_size: int
    """Numbers in the largest update of one panel by another that is scattered."""
    nnz: int
    """Numbers stored in the lower triangle of L, zeros of relaxed supernodes included."""
    flops: float
    """Additions and multiplications of one factorisation: squared length of each column."""


def analyse(
    pattern: BlockPattern, active: np.ndarray, positions: np.ndarray | None = None
) -> Analysis:
    """Return elimination order, panels, and the target of each block in them.

    The cheapest candidate order is taken: operations, plus 30 for each number of an update that has
    to be scattered. In five robots and five beams of 500 to 100000 unknowns this was always the
    faster order, or as fast with less fill.

    Args:
        pattern: Sparsity pattern of the matrix.
        active: Nodes that take part, shape (n_nodes,), bool.
        positions: Positions of the nodes, shape (n_nodes, 3), for another candidate if the system
            is large.
    """
    nodes = np.flatnonzero(active)
    number = np.full(pattern.n_nodes, -1, np.int64)
    number[nodes] = np.arange(nodes.size)
    rows, cols = number[pattern.rows], number[pattern.indices]
    source = np.flatnonzero((rows >= 0) & (cols >= 0))
    rows, cols = rows[source], cols[source]
    graph = _graph(nodes.size, rows, cols)
    candidates = candidate_eliminations(graph)
    panels = [find_supernodes(elimination) for elimination in candidates]
    if len(panels) == 2 and _flops(panels[1]) >= PARALLEL_FLOPS_MIN:
        orders = [burn_at_both_ends(graph, candidates.pop().order)]
        orders += [] if positions is None else [nested_dissection(graph, positions[nodes])]
        candidates += [eliminate_in_runs(graph, order) for order in orders]
        panels = [find_supernodes(elimination) for elimination in candidates]
    best = int(np.argmin([_flops(s) + 30.0 * _scattered_sizes(s).sum() for s in panels]))

    order, supernodes = candidates[best].order, panels[best]
    place = np.empty(nodes.size, np.int64)
    place[order] = np.arange(nodes.size)
    return Analysis(
        order=nodes[order],
        supernodes=supernodes,
        blocks=_map_blocks(supernodes, source, place[rows], place[cols]),
        groups=find_groups(supernodes),
        update_size=int(_scattered_sizes(supernodes).max(initial=0)),
        nnz=int(_column_lengths(supernodes).sum()),
        flops=_flops(supernodes),
    )


def find_supernodes(elimination: Elimination) -> Supernodes:
    """Return the panels of L for an elimination whose subtrees are runs."""
    first = _merge_columns(elimination.parent, elimination.counts)
    of_node = np.repeat(np.arange(first.size - 1), np.diff(first))
    row_start, rows = _panel_rows(elimination.indptr, elimination.indices, first, of_node)
    panel_start = np.zeros(first.size, np.int64)
    np.cumsum(9 * np.diff(first) * np.diff(row_start), out=panel_start[1:])
    return Supernodes(first, of_node, row_start, rows, panel_start)


def find_groups(supernodes: Supernodes) -> Groups:
    """Return two groups of subtrees, and the panels above them.

    The largest subtree is replaced by its children until the largest group has at most 0.55 of the
    work of both. With more than 0.4 of all work above them, or less than `PARALLEL_FLOPS_MIN`, two
    threads are not worth it.
    """
    count = supernodes.first.size - 1
    alone = Groups((np.arange(count),), np.empty(0, np.int64))
    columns = np.cumsum(np.append(0.0, _column_lengths(supernodes).astype(float) ** 2))
    work = np.diff(columns[3 * supernodes.first])
    total = columns[-1]
    if total < PARALLEL_FLOPS_MIN:
        return alone
    below = supernodes.row_start[:-1] + np.diff(supernodes.first)
    is_root = below == supernodes.row_start[1:]
    parent = np.where(is_root, -1, supernodes.of_node[supernodes.rows[below - is_root]])
    subtree, start = work.copy(), np.arange(count)  # a subtree is a run of panels
    for s in np.flatnonzero(~is_root):
        subtree[parent[s]] += subtree[s]
        start[parent[s]] = min(start[parent[s]], start[s])
    open_trees, above = np.flatnonzero(is_root).tolist(), 0.0
    while above <= 0.4 * total and open_trees:
        open_trees.sort(key=lambda s: -subtree[s])
        groups: list[list[int]] = [[], []]
        for tree in open_trees:
            min(groups, key=lambda group: sum(subtree[group])).append(tree)
        if max(sum(subtree[group]) for group in groups) <= 0.55 * (total - above):
            panels = [
                np.concatenate([np.arange(start[s], s + 1) for s in sorted(group)])
                for group in groups
            ]
            return Groups(tuple(panels), np.setdiff1d(np.arange(count), np.concatenate(panels)))
        largest = open_trees.pop(0)
        above += work[largest]
        open_trees += np.flatnonzero(parent == largest).tolist()
    return alone


def _column_lengths(supernodes: Supernodes) -> np.ndarray:
    """Return the count of numbers in each column of L, diagonal included, shape (3 n,)."""
    widths, heights = 3 * np.diff(supernodes.first), 3 * np.diff(supernodes.row_start)
    start = np.repeat(3 * supernodes.first[:-1], widths)
    return np.repeat(heights, widths) - (np.arange(start.size) - start)


def _flops(supernodes: Supernodes) -> float:
    """Return the number of additions and multiplications of a factorisation."""
    return float(np.sum(_column_lengths(supernodes).astype(float) ** 2))


def _scattered_sizes(supernodes: Supernodes) -> np.ndarray:
    """Return the sizes of the updates L[k1:] L[k1:k2]^T of a panel by another that are scattered.

    The rows k1:k2 are nodes of one panel. If the rows k1: follow each other without a gap, the
    product is added directly to that panel and does not count.
    """
    heights = np.diff(supernodes.row_start)
    panel = np.repeat(np.arange(heights.size), heights)
    owner = supernodes.of_node[supernodes.rows]
    starts_run = np.ones(owner.size, bool)
    starts_run[1:] = (owner[1:] != owner[:-1]) | (panel[1:] != panel[:-1])
    k1 = np.flatnonzero(starts_run)
    k2 = np.append(k1[1:], owner.size)
    end = supernodes.row_start[panel[k1] + 1]
    gaps = supernodes.rows[end - 1] - supernodes.rows[k1] != end - 1 - k1
    counts = gaps & (owner[k1] != panel[k1])
    return (9 * (k2 - k1) * (end - k1))[counts]


def _graph(n: int, rows: np.ndarray, cols: np.ndarray) -> sparse.csr_array:
    """Return the neighbours of each node from the pairs of one triangle, without the diagonal."""
    is_off_diagonal = rows != cols
    rows, cols = rows[is_off_diagonal], cols[is_off_diagonal]
    pairs = np.concatenate([rows, cols]), np.concatenate([cols, rows])
    return sparse.csr_array((np.ones(pairs[0].size), pairs), shape=(n, n))


def _map_blocks(
    supernodes: Supernodes, source: np.ndarray, rows: np.ndarray, cols: np.ndarray
) -> BlockMap:
    """Return the targets of the blocks of pairs (rows, cols), transposed above the diagonal."""
    n = supernodes.of_node.size
    transposed = rows < cols
    rows, cols = np.maximum(rows, cols), np.minimum(rows, cols)
    panel = supernodes.of_node[cols]
    heights = np.diff(supernodes.row_start)
    keys = np.repeat(np.arange(heights.size), heights) * n + supernodes.rows
    row_in_panel = np.searchsorted(keys, panel * n + rows) - supernodes.row_start[panel]
    column_in_panel = cols - supernodes.first[panel]
    target = supernodes.panel_start[panel] + 9 * column_in_panel * heights[panel] + 3 * row_in_panel
    order = np.argsort(target)
    start = np.searchsorted(target[order], supernodes.panel_start)
    return BlockMap(start, source[order], target[order], transposed[order])


@njit
def _merge_columns(parent: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the first column of each supernode, shape (n_super + 1,).

    Columns whose rows nest exactly are one supernode. From left to right, each is then merged with
    the supernode that ends just before it, if that is its child and the panel gets few zeros.
    """
    n = parent.size
    first = np.empty(n + 1, np.int64)
    n_super = end = 0
    while end < n:
        start = end
        end += 1
        while end < n and parent[end - 1] == end and counts[end - 1] == counts[end] + 1:
            end += 1
        below = counts[end - 1]
        filled = 0.0  # zeros in this panel
        while n_super > 0 and start <= parent[start - 1] < end:
            child = first[n_super - 1]
            merged = filled
            for column in range(child, start):
                merged += end - 1 - column + below - counts[column]
            width = end - child
            if not _worth_merging(width, merged / (width * (0.5 * (width + 1) + below))):
                break
            start, filled = child, merged
            n_super -= 1
        first[n_super] = start
        n_super += 1
    first[n_super] = n
    return first[: n_super + 1].copy()


@njit
def _worth_merging(width: int, zero_fraction: float) -> bool:
    """Return True if a panel of `width` nodes may have this fraction of zeros.

    Measured with 1500 to 20000 unknowns; more zeros slow down the band-like panels of reverse
    Cuthill-McKee, fewer leave panels too narrow for BLAS.
    """
    return width <= 4 or (width <= 8 and zero_fraction < 0.3) or zero_fraction < 0.03


@njit
def _sort(values: np.ndarray, count: int) -> None:
    """Sort the first `count` values in place; numba's own sort takes seconds to compile.

    Heapsort: Knuth, The Art of Computer Programming 3, section 5.2.3.
    """
    root, end = count // 2, count
    while end > 1:
        if root > 0:
            root -= 1
        else:
            end -= 1
            values[0], values[end] = values[end], values[0]
        parent = root
        while 2 * parent + 1 < end:
            child = 2 * parent + 1
            if child + 1 < end and values[child + 1] > values[child]:
                child += 1
            if values[child] <= values[parent]:
                break
            values[parent], values[child] = values[child], values[parent]
            parent = child


@njit
def _panel_rows(
    indptr: np.ndarray, indices: np.ndarray, first: np.ndarray, of_node: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of each panel: its nodes, then neighbours and rows of children, ascending."""
    n, n_super = of_node.size, first.size - 1
    first_child, next_sibling = np.full(n_super, -1, np.int64), np.full(n_super, -1, np.int64)
    seen_by = np.full(n, -1, np.int64)
    below = np.empty(n, np.int64)
    row_start, rows = np.zeros(n_super + 1, np.int64), np.empty(4 * n + 16, np.int64)
    for s in range(n_super):
        start, end = first[s], first[s + 1]
        count = 0
        for p in range(indptr[start], indptr[end]):
            row = indices[p]
            if row >= end and seen_by[row] != s:
                seen_by[row] = s
                below[count] = row
                count += 1
        child = first_child[s]
        while child != -1:
            for p in range(
                row_start[child] + first[child + 1] - first[child], row_start[child + 1]
            ):
                row = rows[p]
                if row >= end and seen_by[row] != s:
                    seen_by[row] = s
                    below[count] = row
                    count += 1
            child = next_sibling[child]
        begin = row_start[s]
        stop = begin + end - start + count
        row_start[s + 1] = stop
        if stop > rows.size:
            longer = np.empty(2 * stop, np.int64)
            for p in range(begin):
                longer[p] = rows[p]
            rows = longer
        for node in range(start, end):
            rows[begin + node - start] = node
        if count > 0:
            _sort(below, count)
            for p in range(count):
                rows[begin + end - start + p] = below[p]
            parent = of_node[below[0]]
            next_sibling[s] = first_child[parent]
            first_child[parent] = s
    return row_start, rows[: row_start[n_super]].copy()
