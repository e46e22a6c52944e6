"""Pressures on triangles, quadrilaterals and edges that do not follow the surface's motion."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.force.given import ForceWithoutStiffness
from sofa_softctl.runtime.components.topology.base import Topology, linked_topology
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool, Elements, Integers, Real, Reals, Text, Vector
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain


class ElementPressure(ForceWithoutStiffness):
    """Force `pressure` times size at rest on each of some elements."""

    acts_on = ("Vec3",)

    pressure = Vector(3, [0.0, 0.0, 0.0], "Force on a unit of size.")
    showForces = Bool(False, "Draw the forces.")
    topology = LinkType("Topology that holds the elements; the node's own by default.")

    def find_topology(self) -> Topology:
        """Return the linked topology, or the node's topology.

        Raises:
            SceneError: there is none.
        """
        return linked_topology(self, "needs a topology in its node or above, added before it.")

    def select_elements(self, kind: str, numbers: np.ndarray, name: str) -> np.ndarray:
        """Return the elements of these numbers.

        Raises:
            SceneError: one of them does not exist.
        """
        topology = self.find_topology()
        elements = elements_by_number(self, topology.elements(kind), numbers, kind, name)
        if not len(elements):
            problem = self.fault(f"names none of the {kind} of {topology.describe()} in '{name}'.")
            complain(self, problem, " It has no effect, as in SOFA.")
        return self.check_indices(elements, f"{kind} of {topology.getPathName()}")

    def reinit(self) -> None:
        """Find the elements again."""
        self.init()

    def rest_positions(self) -> np.ndarray:
        """Return the rest positions of the nodes."""
        return self.state.rest_position.get()

    def distribute(
        self, force: np.ndarray, elements: np.ndarray, element_force: np.ndarray
    ) -> None:
        """Add to each corner of each element an equal part of the element's force."""
        node_force = element_force / elements.shape[1]
        for i in range(elements.shape[1]):
            np.add.at(force, elements[:, i], node_force)


class TrianglePressureForceField(ElementPressure):
    """`pressure` times area at rest on the triangles of `triangleList`.

    A list that is linked, to a region for example, is read once, as in SOFA: triangles that leave
    the region keep their pressure.
    With useConstantForce=False the force is cauchyStress times the area vector at the present
    positions instead; it is not part of the step's matrix, as in SOFA.
    """

    cauchyStress = Vector(
        9, [0.0] * 9, "Stress, row by row; of the matrix the lower half counts.", unit="pressure"
    )
    triangleList = Integers([], "Numbers of the triangles.")
    useConstantForce = Bool(True, "Take the pressure and the area at rest.")
    trianglePressureMap = Text("", "Unused.", linkable=False)
    normal = Vector(
        3, [0.0, 0.0, 0.0], "Removed in SOFA: choose triangles by triangleList.", follows="reinit"
    )
    dmin = Real(0.0, "Removed in SOFA: choose triangles by triangleList.", follows="reinit")
    dmax = Real(0.0, "Removed in SOFA: choose triangles by triangleList.", follows="reinit")

    def init(self) -> None:
        """Find the triangles and their areas."""
        self._triangles = self.select_elements("triangles", self.triangleList.get(), "triangleList")
        a, b, c = (self.rest_positions()[self._triangles[:, i]] for i in range(3))
        self._areas = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2.0
        self._list_seen = self.triangleList.getCounter()

    @override
    def add_force(self, force: np.ndarray) -> None:
        number_data = self.triangleList
        if not number_data.hasParent() and number_data.getCounter() != self._list_seen:
            self.init()
        if self.useConstantForce.get():
            self.distribute(force, self._triangles, self.pressure.get() * self._areas[:, None])
            return
        lower = np.tril(self.cauchyStress.get().reshape(3, 3))
        stress = lower + np.tril(lower, -1).T
        x = self.state.position.get()
        a, b, c = (x[self._triangles[:, i]] for i in range(3))
        self.distribute(force, self._triangles, np.cross(b - a, c - a) / 2.0 @ stress)


class QuadPressureForceField(ElementPressure):
    """`pressure` times area at rest on the quadrilaterals of `quadList`.

    Without a list it acts on those whose corners all lie between the planes normal . x = dmin and
    dmax.
    """

    quadList = Integers([], "Numbers of the quadrilaterals.", follows="reinit")
    normal = Vector(
        3, [0.0, 0.0, 0.0], "Direction along which quadrilaterals are chosen.", follows="reinit"
    )
    dmin = Real(0.0, "Least normal . x.", unit="length", follows="reinit")
    dmax = Real(0.0, "Greatest normal . x.", unit="length", follows="reinit")
    quadPressureMap = Text("", "Unused.", linkable=False)

    def init(self) -> None:
        """Find the quadrilaterals and their areas."""
        numbers = self.quadList.get()
        if not len(numbers) and self.dmin.get() != self.dmax.get():
            numbers = elements_between(self, self.find_topology().elements("quads"))
        self._quads = self.select_elements("quads", numbers, "quadList")
        a, b, c, d = (self.rest_positions()[self._quads[:, i]] for i in range(4))
        halves = np.cross(b - a, c - a), np.cross(c - a, d - a)
        self._areas = (np.linalg.norm(halves[0], axis=1) + np.linalg.norm(halves[1], axis=1)) / 2.0
        self._pressure = self.pressure.get().copy()

    def add_force(self, force: np.ndarray) -> None:
        """Add the forces; a new pressure acts from the next call, as in SOFA."""
        self.distribute(force, self._quads, self._pressure * self._areas[:, None])
        self._pressure = self.pressure.get().copy()


def elements_by_number(
    field: Component, elements: np.ndarray, numbers: np.ndarray, kind: str, name: str
) -> np.ndarray:
    """Return the elements of these numbers, which the Data `name` gives.

    Raises:
        SceneError: one of them does not exist.
    """
    if len(invalid := numbers[(numbers < 0) | (numbers >= len(elements))]):
        raise field.fault(
            f"names number {invalid[0]} in '{name}', but there are {len(elements)} {kind}."
        )
    return elements[numbers]


def elements_between(field: ElementPressure, elements: np.ndarray) -> np.ndarray:
    """Return numbers of the elements whose corners all lie between a field's two planes."""
    height = field.rest_positions() @ field.normal.get()
    is_inside = (height > field.dmin.get()) & (height < field.dmax.get())
    return np.flatnonzero(is_inside[elements].all(axis=1))


class EdgePressureForceField(ElementPressure):
    """`pressure` times length at rest on edges, half of it on each end.

    Without a pressure: p_intensity times length at rest along the edges' normals, binormal x edge,
    at the positions of the last step, as in SOFA. There the k-th force has the length of the
    topology's k-th edge, for any choice of edges. The edges are `edgeIndices`, or `edges`, or all
    between the planes normal . x = dmin and dmax.
    """

    edgeIndices = Integers([], "Numbers of the edges.", follows="reinit")
    edges = Elements(2, [], "The edges, by their ends.", follows="reinit")
    normal = Vector(3, [0.0, 0.0, 0.0], "Direction along which edges are chosen.", follows="reinit")
    dmin = Real(0.0, "Least normal . x.", unit="length", follows="reinit")
    dmax = Real(0.0, "Greatest normal . x.", unit="length", follows="reinit")
    p_intensity = Reals(
        [], "Force on a unit of length along the normal, one or one an edge.", per="edge"
    )
    binormal = Vector(3, [0.0, 0.0, 0.0], "Normal of the plane in which the edges lie.")
    arrowSizeCoef = Real(0.0, "Size of the drawn arrows.")
    edgePressureMap = Text("", "Unused.", linkable=False)

    def init(self) -> None:
        """Find the edges and their forces.

        Raises:
            SceneError: an edge does not exist, or there is no direction for the forces.
        """
        self._edges = self._chosen_edges()
        a, b = (self.rest_positions()[self._edges[:, i]] for i in range(2))
        self._lengths = np.linalg.norm(b - a, axis=1)
        first = self.find_topology().elements("edges")[: len(self._edges)]
        self._first_lengths = np.linalg.norm(np.subtract(*self.rest_positions()[first.T]), axis=1)
        along_normals = len(self.p_intensity.get()) and not self.pressure.get().any()
        if along_normals and not self.binormal.get().any():
            problem = self.fault(
                "has 'p_intensity' but no 'binormal', and does not look for the edges' triangles: "
                "give the normal of the plane in which the edges lie as 'binormal'."
            )
            complain(self, problem, " Its forces are 0, as in SOFA.")
        if along_normals and len(first) < len(self._edges):
            numbers = f"{len(self._edges)} numbers in 'edgeIndices'"
            raise self.fault(f"has {numbers}, but there are {len(first)} edges.")
        self._forces = self._edge_forces()

    @override
    def count_of(self, per: str) -> tuple[int, str]:
        return len(self._edges), "edges"

    def _chosen_edges(self) -> np.ndarray:
        is_chosen = len(self.edgeIndices.get()) or len(self.edges.get())
        if is_chosen or len(self.find_topology().elements("triangles")):
            return self.select_elements("edges", self._numbers(), "edgeIndices")
        problem = self.fault("has no 'edgeIndices' and no 'edges', and its topology no triangles.")
        complain(self, problem, " It has no effect, as in SOFA.")
        return np.empty((0, 2), dtype=np.int64)

    def _numbers(self) -> np.ndarray:
        all_edges = self.find_topology().elements("edges")
        if len(self.edges.get()):
            number_by_edge = {tuple(edge): i for i, edge in enumerate(all_edges.tolist())}
            missing = [
                edge for edge in self.edges.get().tolist() if tuple(edge) not in number_by_edge
            ]
            if missing:
                raise self.fault(f"names the edge {missing[0]}, which its topology does not have.")
            return np.array([number_by_edge[tuple(edge)] for edge in self.edges.get().tolist()])
        if len(self.edgeIndices.get()):
            return self.edgeIndices.get()
        if self.dmin.get() != self.dmax.get():
            return elements_between(self, all_edges)
        return np.empty(0, dtype=np.int64)

    def _edge_forces(self) -> np.ndarray:
        """Return the force on each edge at the present positions, shape (k, 3)."""
        if self.pressure.get().any() or not len(self.p_intensity.get()):
            return self.pressure.get() * self._lengths[:, None]
        x = self.state.position.get()
        tangent = x[self._edges[:, 1]] - x[self._edges[:, 0]]
        normal = np.cross(self.binormal.get(), tangent)
        length = np.linalg.norm(normal, axis=1, keepdims=True)
        normal /= np.where(length > 0.0, length, 1.0)
        intensities = self.p_intensity.get()
        numbers = np.arange(len(self._edges))
        intensity = intensities[np.where(numbers < len(intensities), numbers, 0)]
        return normal * (intensity * self._first_lengths)[:, None]

    @override
    def add_force(self, force: np.ndarray) -> None:
        self.distribute(force, self._edges, self._forces)
        self._forces = self._edge_forces()

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"forces": self._forces.copy()}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self._forces = snapshot["forces"].copy()
