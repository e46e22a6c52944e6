"""Masses spread over the elements of a topology."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sparse
from typing_extensions import override

from sofa_softctl.runtime.behavior.mechanics import Mass, Pairs
from sofa_softctl.runtime.components.mass.lumped import LumpedMass, given_by, overruled_fault
from sofa_softctl.runtime.components.topology.base import Topology, linked_topology
from sofa_softctl.runtime.components.topology.mappings import PARTS as HEXAHEDRON
from sofa_softctl.runtime.components.topology.parts import EDGES_OF_HEXAHEDRON, EDGES_OF_QUAD
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Bool, Real, Reals, Text
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain


class TopologicalMass(Mass):
    """Mass in proportion to the size of the elements of the highest dimension in the topology.

    Of two kinds of the same dimension, those with more sides count: hexahedra, or quads.
    """

    totalMass = Real(1.0, "Mass of the whole body.", unit="mass")
    massDensity = Reals(
        [1.0], "Mass of a unit of volume, area or length.", per="body", shared=False
    )
    topology = LinkType(
        "Topology that holds the elements; the node's own by default.", kind="topology"
    )
    showGravityCenter = Bool(False, "Draw the centre of mass.")
    showAxisSizeFactor = Real(1.0, "Size of the drawn axes.")
    printMass = Bool(False, "Unused.")
    filename = Text(
        "unused", "Not supported: file with masses.", aliases=("fileMass",), follows="start"
    )
    geometryState = LinkType("Unused: the state is that of the node.")
    rayleighStiffness = Real(0.0, "Unused: a mass has no stiffness.", unit="time")
    graph = Text("", "Unused.", linkable=False)

    computeMassOnRest: Bool

    def elements(self) -> tuple[np.ndarray, np.ndarray, str]:
        """Return elements (m, 2 to 8) of the highest dimension, their masses (m,), and their kind.

        Raises:
            SceneError: there is no topology or it has no elements, or the mass is not positive.
        """
        if self.filename.isSet() and self.filename.get() != "unused":
            raise self.fault("does not read masses from a file: give massDensity or totalMass.")
        topology = self.find_topology()
        for kind in ("hexahedra", "tetrahedra", "quads", "triangles", "edges"):
            elements = topology.elements(kind)
            if len(elements):
                break
        else:
            raise self.fault(f"finds no elements in {topology.describe()}.")
        self.check_indices(elements, f"{kind} of {topology.getPathName()}")
        at_rest = self.computeMassOnRest.get()
        points = (self.state.rest_position if at_rest else self.state.position).get()
        sizes = element_sizes(points, elements, kind)
        density, total = self.massDensity, self.totalMass
        self._given = density if given_by(self, *_GIVE) == "massDensity" else total
        rho = self.densities(len(elements)) if self._given is density else None
        if rho is None:
            size = sizes.sum()
            self._given, rho = total, np.array([total.get() / size if size else 0.0])
        if not (rho >= 0.0).all() or not rho.any():
            problem = self.fault(f"needs a positive mass, got {rho.min() * sizes.sum():g}.")
            if not rho.any():
                complain(self, problem, " As in SOFA its nodes have no inertia.")
            else:
                complain(self, problem, " As in SOFA a totalMass of 1 is taken.")
                rho = np.array([1.0 / sizes.sum()])
        self._sizes = sizes
        self._set_shown(rho)
        self._amount = np.array(self._given.get(), dtype=float, ndmin=1)
        return elements, rho * sizes, kind

    def densities(self, count: int) -> np.ndarray | None:
        """Return the given density, one or one per element, or None if the number is wrong."""
        return self.massDensity.get()[:1]

    def find_topology(self) -> Topology:
        """Return the linked topology, or the node's topology."""
        return linked_topology(
            self,
            "needs a topology: add a TetrahedronSetTopologyContainer or MeshTopology to its node, "
            "or use UniformMass.",
        )

    def count_of(self, per: str) -> tuple[int, str] | None:
        """Return the expected number of values; as in SOFA there is a single density."""
        return (1, "body") if per == "body" else super().count_of(per)

    def reinit(self) -> None:
        """Distribute the mass again."""
        self.init()

    def data_changed(self, data: Data) -> None:
        """Apply a new mass immediately, if it is set by the Data that the scene gave first."""
        if not self._initialised or data.type.name not in ("totalMass", "massDensity"):
            return
        if "_given" not in vars(self):
            return
        if data is not self._given:
            value = data.get()
            self._show()
            if not np.array_equal(data.get(), value):
                complain(self, overruled_fault(self, data, value))
            return
        amount = float(next(iter(np.ravel(data.get())), 0.0))
        if not amount > 0.0:
            raise self.fault(f"needs a positive mass, got {data.type.name} {amount:g}.")
        self.scale(amount / self._amount[0])
        self._amount = np.array([amount])
        self._show()

    def _show(self) -> None:
        """Set totalMass and massDensity to the values in use."""
        is_density = self._given is self.massDensity
        self._set_shown(self._amount if is_density else self._amount / self._sizes.sum())

    def _set_shown(self, rho: np.ndarray) -> None:
        self.massDensity.set(rho.copy())
        self.totalMass.set(
            float(rho[0] * self._sizes.sum() if len(rho) == 1 else rho @ self._sizes)
        )


_GIVE = ("totalMass", "massDensity", "vertexMass")
"""Data that give a mass; if several are given, the first counts."""
_QUAD = [(0, 1, 2), (0, 2, 3)]
_SIMPLICES: dict[str, Sequence[tuple[int, ...]]] = {"hexahedra": HEXAHEDRON, "quads": _QUAD}
"""Simplices into which SOFA cuts an element to compute its size."""


def element_sizes(points: np.ndarray, elements: np.ndarray, kind: str) -> np.ndarray:
    """Return volume, area or length of the elements of a kind, shape (m,)."""
    if kind in _SIMPLICES:
        parts = [elements[:, part] for part in _SIMPLICES[kind]]
        return np.sum([_simplex_sizes(points, part) for part in parts], axis=0)
    return _simplex_sizes(points, elements)


def _simplex_sizes(points: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """Return volume, area or length of tetrahedra, triangles or edges, shape (m,)."""
    a = points[elements[:, 0]]
    sides = [points[elements[:, i]] - a for i in range(1, elements.shape[1])]
    if len(sides) == 3:
        return np.abs(np.einsum("ij,ij->i", np.cross(sides[0], sides[1]), sides[2])) / 6.0
    if len(sides) == 2:
        return np.linalg.norm(np.cross(sides[0], sides[1]), axis=1) / 2.0
    return np.linalg.norm(sides[0], axis=1)


_EDGES = {"hexahedra": EDGES_OF_HEXAHEDRON, "quads": EDGES_OF_QUAD}
"""Edges of elements in which not every pair of nodes is an edge."""
_MATRIX = ("matrix", "row_sums", "_entries")


class MeshMatrixMass(TopologicalMass):
    """The consistent mass matrix of linear elements.

    In an element of mass m, an edge couples its nodes by half of the diagonal entry, which is m /
    10 in a tetrahedron and m / 6 in a triangle, as by integration; m / 20 in a hexahedron and m / 8
    in a quad, where SOFA neglects the diagonals. Sizes are taken at init, not at rest, as in SOFA.
    With `lumping` the rows are summed onto the diagonal.
    """

    vertexMass = Reals(
        [], "Diagonal of the matrix before it is lumped.", unit="mass", per="node", shared=False
    )
    edgeMass = Reals([], "Entry between the nodes of each pair.", unit="mass")
    lumping = Bool(False, "Sum the rows onto the diagonal.", follows="start")
    computeMassOnRest = Bool(
        False, "Take the elements' sizes from the rest position.", follows="reinit"
    )

    def init(self) -> None:
        """Assemble the matrix, by nodes."""
        for name in ("vertexMass", "edgeMass"):
            if self._data[name].isSet():
                complain(
                    self,
                    self.fault(
                        f"does not take '{name}': its matrix comes from the elements. Give "
                        "massDensity or totalMass, or use a DiagonalMass."
                    ),
                )
        self._lumped = vars(self).get("_lumped", self.lumping.get())  # solvers know the pairs
        count = self.state.count
        if count != self.state.known_count:
            raise self.fault(
                "stands before the mapping that gives its state the nodes, whose positions SOFA "
                "then reads beyond its memory. Add it after the mapping."
            )
        elements, masses, kind = self.elements()
        width = elements.shape[1]
        weights = element_matrix(kind, width)
        rows = np.repeat(elements, width, axis=1).ravel()
        cols = np.tile(elements, (1, width)).ravel()
        entries = weights.ravel()[None, :] * masses[:, None]
        self.matrix = sparse.csr_array((entries.ravel(), (rows, cols)), shape=(count, count))
        self.matrix.eliminate_zeros()
        self.row_sums = self.matrix.sum(axis=1)[:, None]
        self.vertexMass.set(self.matrix.diagonal())
        if self._lumped:
            self.matrix = sparse.diags_array(self.row_sums[:, 0], format="csr")
        lower = sparse.tril(self.matrix, format="coo")
        self._pairs = (lower.row.astype(np.int64), lower.col.astype(np.int64))
        self._entries = lower.data

    def count_of(self, per: str) -> tuple[int, str] | None:
        """Return the expected number of values; massDensity may have one value per element."""
        return None if per == "body" else super().count_of(per)

    @override
    def densities(self, count: int) -> np.ndarray | None:
        rho = self.massDensity.get()
        if len(rho) in (1, count):
            return rho
        problem = f"has {len(rho)} 'massDensity' for {count} elements: give one, or one for each."
        complain(self, self.fault(problem), " totalMass counts instead, as in SOFA.")
        return None

    def data_changed(self, data: Data) -> None:
        """Apply a new mass; if densities differ, the matrix is assembled again."""
        if self._initialised and data is self.massDensity is vars(self).get("_given"):
            if len(self._amount) > 1 or len(data.get()) > 1:
                self.init()
                return
        super().data_changed(data)

    @override
    def snapshot(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in (*_MATRIX, "_amount")}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        vars(self).update(snapshot)

    @override
    def add_gravity(self, force: np.ndarray, gravity: np.ndarray) -> None:
        force += self.row_sums * gravity

    @override
    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        out += factor * (self.matrix @ v)

    def check_differentiable(self) -> None:
        """Check that the derivative of a time step is known with it: M is constant."""

    @override
    def scale(self, factor: float) -> None:
        for name in _MATRIX:
            setattr(self, name, getattr(self, name) * factor)

    @override
    def pairs(self) -> Pairs:
        return self._pairs

    @override
    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        # Blocks are multiples of the identity, so a stored transpose is the same block.
        stored = np.where(slots >= 0, slots, ~slots)
        for i in range(3):
            values[stored, i, i] += factor * self._entries


def element_matrix(kind: str, width: int) -> np.ndarray:
    """Return the mass matrix of an element of mass 1, by its nodes, shape (width, width)."""
    matrix = np.ones((width, width)) + np.eye(width)
    if kind in _EDGES:
        matrix = 2.0 * np.eye(width)
        for a, b in _EDGES[kind]:
            matrix[a, b] = matrix[b, a] = 1.0
    return matrix / matrix.sum()


class DiagonalMass(TopologicalMass, LumpedMass):
    """A diagonal mass: each element distributes its mass equally to its nodes.

    `vertexMass` gives the nodes' masses instead; further nodes take the last entry. Of totalMass,
    massDensity and vertexMass the first that is given counts.
    """

    vertexMass = Reals([], "Mass of each node.", unit="mass", aliases=("mass",), per="node")
    computeMassOnRest = Bool(
        True, "Take the elements' sizes from the rest position.", follows="reinit"
    )

    def init(self) -> None:
        """Distribute the mass."""
        count = self.state.count
        if given_by(self, *_GIVE) == "vertexMass" and self._fits(self.vertexMass.get()):
            self._set_node_masses(self.vertexMass.get())
            return
        elements, masses, _ = self.elements()
        self.masses = np.zeros((count, 1))
        for i in range(elements.shape[1]):
            np.add.at(self.masses[:, 0], elements[:, i], masses / elements.shape[1])
        self.vertexMass.set(self.masses[:, 0].copy())

    def _fits(self, masses: np.ndarray) -> bool:
        """Return True if they can be the nodes' masses; otherwise complain with the reason."""
        if not masses.size:
            return False
        if max(len(masses), self.state.known_count) != self.state.count:
            problem = f"has {len(masses)} entries in 'vertexMass' for {self.state.count} nodes."
        elif (masses < 0.0).any():
            problem = f"has a negative 'vertexMass', {masses.min():g}."
        else:
            return True
        complain(self, self.fault(problem), " totalMass counts instead, as in SOFA.")
        return False

    def _set_node_masses(self, masses: np.ndarray) -> None:
        """Set the masses of the nodes; further nodes take the last one."""
        missing = self.state.count - len(masses)
        all_masses = np.concatenate([masses, np.full(missing, masses[-1])])
        self.masses = all_masses[:, None].copy()
        self.vertexMass.set(all_masses)
        self.totalMass.set(float(all_masses.sum()))

    def data_changed(self, data: Data) -> None:
        """Apply a new mass, also of nodes, immediately."""
        super().data_changed(data)
        if self._initialised and data is self.vertexMass and len(data.get()) == self.state.count:
            self._set_node_masses(data.get())
