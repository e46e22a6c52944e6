"""MeshMatrixMass: consistent mass, with coupling between nodes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.behavior.mechanics import Pairs
from sofa_softctl.runtime.components.mass.topological import TopologicalMass
from sofa_softctl.runtime.components.topology.parts import EDGES_OF_HEXAHEDRON, EDGES_OF_QUAD
from sofa_softctl.runtime.core.data.types import Bool, Reals

_EDGES = {"hexahedra": EDGES_OF_HEXAHEDRON, "quads": EDGES_OF_QUAD}
"""Of elements in which not every pair of nodes is an edge."""
_MATRIX = ("matrix", "row_sums", "_entries")


class MeshMatrixMass(TopologicalMass):
    """The consistent mass matrix of linear elements.

    In an element of mass m an edge couples its nodes by half of what is on the diagonal: m / 10 in
    a tetrahedron, m / 6 in a triangle, as by integration; m / 20 in a hexahedron and m / 8 in a
    quad, where SOFA leaves out the diagonals. Sizes are those at init, not at rest, as in SOFA.
    With `lumping` the rows are summed onto the diagonal.
    """

    vertexMass = Reals([], "Diagonal of the matrix.", unit="mass")
    edgeMass = Reals([], "Entry between the nodes of each pair.", unit="mass")
    lumping = Bool(False, "Sum the rows onto the diagonal.")
    computeMassOnRest = Bool(False, "Take the elements' sizes from the rest position.")

    on_rest: ClassVar[bool] = False

    def init(self) -> None:
        """Assemble the matrix, by nodes."""
        self.on_rest = self.computeMassOnRest.get()  # type: ignore[misc]
        count = self.state.count
        elements, masses, kind = self.elements()
        width = elements.shape[1]
        shares = element_matrix(kind, width)
        rows = np.repeat(elements, width, axis=1).ravel()
        cols = np.tile(elements, (1, width)).ravel()
        entries = shares.ravel()[None, :] * masses[:, None]
        self.matrix = sparse.csr_array((entries.ravel(), (rows, cols)), shape=(count, count))
        self.matrix.eliminate_zeros()
        self.row_sums = self.matrix.sum(axis=1)[:, None]
        if self.lumping.get():
            self.matrix = sparse.diags_array(self.row_sums[:, 0], format="csr")
        lower = sparse.tril(self.matrix, format="coo")
        self._pairs = (lower.row.astype(np.int64), lower.col.astype(np.int64))
        self._entries = lower.data
        self.vertexMass.set(self.matrix.diagonal())

    def snapshot(self) -> dict[str, Any]:
        """See Component."""
        return {name: vars(self)[name] for name in (*_MATRIX, "_amount")}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """See Component."""
        vars(self).update(snapshot)

    def add_gravity(self, force: np.ndarray, gravity: np.ndarray) -> None:
        """See Mass."""
        force += self.row_sums * gravity

    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        """See Contribution."""
        out += factor * (self.matrix @ v)

    def check_differentiable(self) -> None:
        """See Mass."""

    def scale(self, factor: float) -> None:
        """See Mass."""
        for name in _MATRIX:
            setattr(self, name, getattr(self, name) * factor)

    def pairs(self) -> Pairs:
        """See Contribution."""
        return self._pairs

    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        """See Contribution."""
        # Blocks are multiples of the identity: where only the transpose is stored it is the same.
        stored = np.where(slots >= 0, slots, ~slots)
        for i in range(3):
            values[stored, i, i] += factor * self._entries


def element_matrix(kind: str, width: int) -> np.ndarray:
    """Mass matrix of an element of mass 1, by its nodes, shape (width, width)."""
    matrix = np.ones((width, width)) + np.eye(width)
    if kind in _EDGES:
        matrix = 2.0 * np.eye(width)
        for a, b in _EDGES[kind]:
            matrix[a, b] = matrix[b, a] = 1.0
    shares: np.ndarray = matrix / matrix.sum()
    return shares
