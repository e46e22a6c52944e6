"""Elements at rest: their stiffness, their volume at nodes, and their refinement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.mesh.checks import signed_volumes
from sofa_softctl.runtime.mesh.mesh import Mesh
from sofa_softctl.runtime.mesh.split import split, split_edges

LOCKING = {4: "TetrahedronFEMForceField", 8: "HexahedronFEMForceField"}
"""SOFA's element by its number of nodes; at rest those of all materials are equal."""
NOT_LOCKING = "AssumedStrainFEMForceField"
"""Element without locking, of tetrahedra and hexahedra."""
_TOPOLOGIES = {
    4: ("TetrahedronSetTopologyContainer", "tetrahedra"),
    8: ("HexahedronSetTopologyContainer", "hexahedra"),
}
"""Topology of elements by their number of nodes, and its Data with their nodes."""
_EDGES = {
    4: np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]),
    8: np.array(
        [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4)]
        + [(k, k + 4) for k in range(4)]
    ),
}
"""Edges of an element."""
_CORNERS = np.array(
    [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
)
"""Corners of a hexahedron."""


@dataclass(frozen=True, eq=False)
class Elements:
    """Elements of one kind with one force field: shape and moduli at rest."""

    x: np.ndarray
    """Nodes at rest, those of other elements too [length], shape (n, 3)."""
    cells: np.ndarray
    """Nodes of tetrahedra (m, 4) or hexahedra (m, 8)."""
    young: np.ndarray
    """Young's modulus at rest [pressure], shape (m,)."""
    poisson: np.ndarray
    """Poisson's ratio at rest [-], shape (m,)."""
    kind: str
    """Class of the force field, of LOCKING or NOT_LOCKING."""
    quadratic: bool = False
    """True if eight tetrahedra each are the parts of a 10-node one."""

    def stiffness(self) -> sparse.csr_array:
        """Return the stiffness at rest [force/length], shape (3 n, 3 n)."""
        node = Node("body")
        topology, cells = _TOPOLOGIES[self.cells.shape[1]]
        node.addObject(topology, position=self.x, **{cells: self.cells})
        state = node.addObject("MechanicalObject", position=self.x)
        moduli = {"youngModulus": self.young, "poissonRatio": self.poisson}
        options = {"quadratic": self.quadratic} if self.kind == NOT_LOCKING else {}
        field = node.addObject(self.kind, **moduli, **options)
        for component in (state, field):  # the topology would seek edges and faces
            component.init()
        return sparse.csr_array(field.assemble_csr(1.0))

    def without_locking(self) -> Elements:
        """Return the same elements without locking."""
        return replace(self, kind=NOT_LOCKING)

    @cached_property
    def edge_length(self) -> float:
        """Mean length of the edges [length]."""
        ends = self.cells[:, _EDGES[self.cells.shape[1]]].reshape(-1, 2)
        ends = np.unique(np.sort(ends, axis=1), axis=0)
        return float(np.linalg.norm(np.diff(self.x[ends], axis=1), axis=2).mean())

    def volume_matrix(self) -> sparse.csr_array:
        """Return the integrals of products of two nodes' shape functions [length^3], (n, n).

        Those of hexahedra count as those of parallelepipeds.
        """
        m, k = self.cells.shape
        if k == 4:
            local = (1.0 + np.eye(4)) / 20.0
        else:
            along = np.array([[2.0, 1.0], [1.0, 2.0]]) / 6.0
            a, b = _CORNERS[:, None], _CORNERS[None]
            local = along[a, b].prod(axis=2)
        volumes = np.abs(signed_volumes(self.x, self.cells))
        values = volumes[:, None, None] * local
        rows = np.repeat(self.cells, k, axis=1).ravel()
        columns = np.tile(self.cells, (1, k)).ravel()
        size = len(self.x)
        return sparse.csr_array((values.ravel(), (rows, columns)), shape=(size, size))


@dataclass(frozen=True, eq=False)
class Refinement:
    """Elements with edges of half the length, and where their nodes are in the coarse ones."""

    parts: list[Elements]
    weights: sparse.csr_array
    """Weights of the coarse nodes in each fine one [-], shape (n_fine, n); coarse ones first."""


def refine(parts: list[Elements]) -> Refinement:
    """Refine elements on the same nodes: tetrahedra of 10 nodes, or hexahedra of half the size."""
    cells = np.concatenate([part.cells for part in parts])
    fine, x, weights = (_halve if cells.shape[1] == 8 else _split)(parts[0].x, cells)
    groups = np.split(fine, np.cumsum([8 * len(part.cells) for part in parts])[:-1])
    refined = [
        Elements(
            x,
            group,
            np.repeat(part.young, 8),
            np.repeat(part.poisson, 8),
            NOT_LOCKING,
            cells.shape[1] == 4,
        )
        for part, group in zip(parts, groups, strict=True)
    ]
    return Refinement(refined, weights)


def _split(x: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray, sparse.csr_array]:
    """Return the parts of tetrahedra (8 m, 4), their nodes, and the weights of the old nodes."""
    mesh = Mesh(x, tetrahedra=cells)
    fine, ends = split(mesh), split_edges(mesh)
    middles = np.repeat(np.arange(len(ends)), 2)
    halves = sparse.csr_array(
        (np.full(2 * len(ends), 0.5), (middles, ends.ravel())), shape=(len(ends), len(x))
    )
    weights = sparse.vstack([sparse.eye_array(len(x)), halves], format="csr")
    return fine.tetrahedra, fine.positions, sparse.csr_array(weights)


def _halve(x: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray, sparse.csr_array]:
    """Return the eight parts of hexahedra (8 m, 8), their nodes, and the weights of old nodes."""
    lattice = np.array(list(product(range(3), repeat=3)))  # in halves of an edge
    along = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    shares = along[lattice[:, None], _CORNERS[None]].prod(axis=2)  # (27, 8)
    members = np.where(shares > 0.0, cells[:, None, :], -1)  # (m, 27, 8)
    keys = np.sort(members, axis=2).reshape(-1, 8)
    unique, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    place = place.ravel()
    is_old = (unique >= 0).sum(axis=1) == 1
    number = np.empty(len(unique), dtype=np.int64)
    number[is_old] = unique[is_old, -1]
    number[~is_old] = len(x) + np.arange((~is_old).sum())
    nodes = number[place].reshape(-1, 27)
    element, point = np.divmod(first[~is_old], 27)
    rows = np.repeat(np.arange(len(first[~is_old])), 8)
    entries = (shares[point].ravel(), (rows, cells[element].ravel()))
    added = sparse.csr_array(entries, shape=(len(element), len(x)))
    added.eliminate_zeros()
    weights = sparse.csr_array(sparse.vstack([sparse.eye_array(len(x)), added], format="csr"))
    corner = (_CORNERS[:, None] + _CORNERS[None]) @ np.array([9, 3, 1])  # part, its corner
    return nodes[:, corner].reshape(-1, 8), weights @ x, weights
