"""Direct solver for symmetric positive definite matrices of 3x3 blocks."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from sofa_softctl.base.machine import available_memory
from sofa_softctl.runtime.kernels.cholesky import substitution, supernodal
from sofa_softctl.runtime.kernels.cholesky.block_matrix import BlockPattern
from sofa_softctl.runtime.kernels.cholesky.symbolic import Analysis, analyse


@dataclass(frozen=True)
class ForwardRows:
    """Constraint rows H multiplied by the inverse of a triangle of the factor, Y = L^-1 P H^T.

    The columns are sorted by the first position of their rows in the elimination; a panel only has
    the columns from its first to its last row that is not zero; Y is not defined elsewhere.
    """

    Y: np.ndarray
    """Product, shape (3 n_active, n_rows)."""
    order: np.ndarray
    """Constraint row of each column of Y, shape (n_rows,)."""


class FactorSizeError(MemoryError):
    """A factor does not fit into the memory that is available."""


_analyses: WeakValueDictionary[bytes, Analysis] = WeakValueDictionary()
"""Analyses of present matrices, by a digest of what they depend on."""


def shared_analysis(
    pattern: BlockPattern, active: np.ndarray, positions: np.ndarray | None
) -> Analysis:
    """Return `analyse` of these arguments, computed once for matrices that exist together."""
    digest = blake2b(active.data)
    for part in (pattern.indptr, pattern.indices, positions):
        digest.update(b"" if part is None else np.ascontiguousarray(part).data)
    key = digest.digest()
    analysis = _analyses.get(key)
    if analysis is None:
        analysis = _analyses[key] = analyse(pattern, active, positions)
    return analysis


class BlockCholesky:
    """Sparse A = L L^T: the pattern is analysed once and factorised with new values at each step.

    Rows and columns of inactive nodes count as identity: the values of the matrix there are not
    read. Before the first success of `factorize`, and after a
    failure, all results are NaN. Objects may not be shared between threads.
    """

    def __init__(
        self,
        pattern: BlockPattern,
        active: np.ndarray | None = None,
        positions: np.ndarray | None = None,
    ) -> None:
        """Order the nodes and analyse the fill of L.

        Args:
            pattern: Sparsity pattern of the matrix.
            active: Nodes that take part, shape (n_nodes,), bool; all if None.
            positions: Positions of the nodes, shape (n_nodes, 3): large bodies are then cut in
                space to find an order.

        Raises:
            FactorSizeError: The factor does not fit into the available memory.
        """
        if active is None:
            active = np.ones(pattern.n_nodes, bool)
        if active.shape != (pattern.n_nodes,) or active.dtype != bool:
            raise ValueError(
                f"active must be bool of shape ({pattern.n_nodes},), one for each node; got "
                f"{active.dtype} of shape {active.shape}."
            )
        self.analysis = analysis = shared_analysis(pattern, active, positions)
        """Symbolic analysis, shared with other matrices of this pattern."""
        size, available = 8 * int(analysis.supernodes.panel_start[-1]), available_memory()
        if size > available:
            raise FactorSizeError(
                f"the factor needs {size / 1e9:.3g} GB of memory, of which "
                f"{available / 1e9:.3g} GB are available."
            )
        self.pattern = pattern
        self.nnz = analysis.nnz
        """Numbers in the lower triangle of L."""
        self.flops = analysis.flops
        """Operations of one factorisation."""
        self._order = analysis.order
        self._place = np.full(pattern.n_nodes, -1, np.int64)
        self._place[self._order] = np.arange(self._order.size)
        self._tree = analysis.supernodes
        self._factor = np.full(self._tree.panel_start[-1], np.nan)
        n, n_super = self._order.size, self._tree.first.size - 1
        self._factorization = supernodal.Factorization(analysis)
        self._low, self._high = np.empty(n_super, np.int64), np.empty(n_super, np.int64)
        self._height = 3 * int(np.diff(self._tree.row_start).max(initial=0))
        self._y, self._below = np.empty(3 * n), np.empty(self._height)
        self._columns = np.empty(0), np.empty(0)
        self._panels = np.arange(n_super)
        self._grouped = None
        if len(analysis.groups.subtrees) > 1:
            self._grouped = substitution.GroupedSubstitution(
                self._tree, analysis.groups, self._height
            )
        self._rows: ForwardRows | None = None

    def factorize(self, values: np.ndarray) -> bool:
        """Factorise the matrix of these values.

        Args:
            values: Blocks in the order of the pattern, shape (n_blocks, 3, 3).

        Returns:
            False if the matrix is not positive definite, is singular to working precision, or
            holds NaN or infinity.
        """
        values = _ready(values, np.float64)
        if values.shape != (self.pattern.indices.size, 3, 3):
            raise ValueError(
                f"values must have shape ({self.pattern.indices.size}, 3, 3), one block for each "
                f"of the pattern; got {values.shape}."
            )
        self._rows = None
        return self._factorization.compute(values, self._factor)

    def solve(self, b: np.ndarray) -> np.ndarray:
        """Return x = A^-1 b; at inactive nodes x = b.

        Args:
            b: Right-hand sides, shape (3 n_nodes,) or (3 n_nodes, m).

        Returns:
            New array of the shape of b.
        """
        b = _ready(b, np.float64)
        if b.ndim not in (1, 2) or b.shape[0] != 3 * self.pattern.n_nodes:
            size = 3 * self.pattern.n_nodes
            raise ValueError(f"b must have shape ({size},) or ({size}, m); got {b.shape}.")
        x = b.copy()
        if b.ndim == 1 and self._grouped is not None:
            substitution.gather(self._order, b, self._y)
            self._grouped.forward(self._factor, self._y)
            self._grouped.backward(self._factor, self._y)
            substitution.scatter(self._order, self._y, x)
        elif b.ndim == 1:
            scratch = (self._y, self._below, self._panels)
            substitution.solve_vector(self._tree, self._factor, self._order, b, x, *scratch)
        elif b.shape[1] > 0:
            self._rows = None
            Y, below = self._reserve(b.shape[1])
            substitution.solve_columns(
                self._tree, self._factor, self._order, b, x, Y, below, self._low, self._high
            )
        return x

    def forward(
        self, row: np.ndarray, node: np.ndarray, vector: np.ndarray, n_rows: int
    ) -> ForwardRows:
        """Return Y = L^-1 P H^T, half of the work for W = H A^-1 H^T and for A^-1 H^T lam.

        Args:
            row, node: Constraint row and node of each entry of H, shape (k,). Entries with the same
                row and node add up; entries of inactive nodes are ignored.
            vector: Entries, shape (k, 3).
            n_rows: Number of constraint rows.

        Returns:
            Rows for `compliance` and `correction`, valid until the next `forward`, `factorize` or
            `solve` of several columns, which use its memory.
        """
        row, node = _ready(row, np.int64), _ready(node, np.int64)
        vector = _ready(vector, np.float64)
        if row.ndim != 1 or node.shape != row.shape or vector.shape != (*row.shape, 3):
            raise ValueError(
                "row, node and vector must have shapes (k,), (k,) and (k, 3); got "
                f"{row.shape}, {node.shape} and {vector.shape}."
            )
        first = np.empty(n_rows, np.int64)
        if not substitution.first_places(self._place, row, node, first):
            raise ValueError(
                f"rows must be in 0..{n_rows - 1} and nodes in 0..{self.pattern.n_nodes - 1}; got "
                f"rows {row.min()}..{row.max()} and nodes {node.min()}..{node.max()}."
            )
        order = np.argsort(first)
        column = np.empty_like(order)
        column[order] = np.arange(n_rows)
        Y, below = self._reserve(n_rows)
        entries, reach = (self._place, column, row, node, vector), (self._low, self._high)
        if self._grouped is None:
            substitution.forward_rows(
                self._tree, self._factor, *entries, Y, below, *reach, self._panels
            )
        else:
            substitution.fill_rows(self._tree, *entries, Y, *reach)
            self._grouped.forward_columns(self._factor, Y, below, *reach)
        self._rows = ForwardRows(Y, order)
        return self._rows

    def compliance(self, rows: ForwardRows) -> np.ndarray:
        """Return W = H A^-1 H^T, exactly symmetric, shape (n_rows, n_rows)."""
        self._check_current(rows)
        W = np.empty((rows.order.size, rows.order.size))
        substitution.gram(
            self._tree, rows.Y, self._low, self._high, rows.order, np.empty_like(W), W
        )
        return W

    def correction(self, rows: ForwardRows, lam: np.ndarray) -> np.ndarray:
        """Return x = A^-1 H^T lam, zero at inactive nodes, shape (3 n_nodes,).

        Args:
            rows: Result of the last `forward`.
            lam: Multiplier of each constraint row, shape (n_rows,).
        """
        self._check_current(rows)
        lam = _ready(lam, np.float64)
        if lam.shape != rows.order.shape:
            raise ValueError(
                f"lam must have shape {rows.order.shape}, one per constraint row; got {lam.shape}."
            )
        x = np.zeros(3 * self.pattern.n_nodes)
        columns = (rows.Y, self._low, self._high, lam[rows.order])
        if self._grouped is None:
            substitution.solve_rows(
                self._tree, self._factor, self._order, *columns, x, self._y, self._below,
                self._panels,
            )  # fmt: skip
        else:
            substitution.multiply_rows(self._tree, *columns, self._y)
            self._grouped.backward(self._factor, self._y)
            substitution.scatter(self._order, self._y, x)
        return x

    def _check_current(self, rows: ForwardRows) -> None:
        if rows is not self._rows:
            raise ValueError(
                "these constraint rows are out of date: `forward` has to be called again after "
                "`factorize` and after a `solve` of several columns, and only its last rows hold."
            )

    def _reserve(self, m: int) -> tuple[np.ndarray, np.ndarray]:
        """Return scratch for m columns: Y of shape (3 n, m), and m times the highest panel."""
        n = 3 * self._order.size
        if self._columns[0].size < n * m:
            self._columns = np.empty(n * m), np.empty(self._height * m)
        Y, below = self._columns
        return Y[: n * m].reshape(n, m), below


def _ready(array: np.ndarray, dtype: Any) -> np.ndarray:
    """Return the array as the kernels need it: of this type, contiguous, writable."""
    flags = array.flags
    if array.dtype == dtype and flags.c_contiguous and flags.writeable:
        return array
    return np.require(array, dtype, ("C", "W"))
