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
    """Gives each of some elements the force `pressure` times its size at rest."""

    acts_on = ("Vec3",)

    pressure = Vector(3, [0.0, 0.0, 0.0], "Force on a unit of size.")
    showForces = Bool(False, "Draw the forces.")
    topology = LinkType("Topology that holds the elements; the node's own by default.")

    def find_topology(self) -> Topology:
        """The linked topology, or that of the node.

        Raises:
            SceneError: there is none.
        """
        return linked_topology(self, "needs a topology in its node or above, added before it.")

    def chosen(self, kind: str, numbers: np.ndarray, name: str) -> np.ndarray:
        """The elements of these numbers.

        Raises:
            SceneError: one of them does not exist.
        """
        topology = self.find_topology()
        found = numbered(self, topology.elements(kind), numbers, kind, name)
        if not len(found):
            problem = self.fault(f"names none of the {kind} of {topology.describe()} in '{name}'.")
            complain(self, problem, " It has no effect, as in SOFA.")
        return self.checked(found, f"{kind} of {topology.getPathName()}")

    def reinit(self) -> None:
        """Find the elements again."""
        self.init()

    def rest(self) -> np.ndarray:
        """Rest positions of the nodes."""
        rest: np.ndarray = self.state._data["rest_position"].get()
        return rest

    def share(self, force: np.ndarray, elements: np.ndarray, whole: np.ndarray) -> None:
        """Give each corner of each element an equal part of the element's force."""
        parts = whole / elements.shape[1]
        for i in range(elements.shape[1]):
            np.add.at(force, elements[:, i], parts)


class TrianglePressureForceField(ElementPressure):
    """`pressure` times area at rest on the triangles of `triangleList`.

    A list that is linked, to a region for example, is read once, as in SOFA: triangles that leave
    the region keep their pressure.
    With useConstantForce=False instead cauchyStress times the area vector of the present positions;
    the step's matrix does not know of it, as in SOFA.
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
        self._triangles = self.chosen("triangles", self.triangleList.get(), "triangleList")
        a, b, c = (self.rest()[self._triangles[:, i]] for i in range(3))
        self._areas = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2.0
        self._list_seen = self.triangleList.getCounter()

    @override
    def add_force(self, force: np.ndarray) -> None:
        given = self.triangleList
        if not given.hasParent() and given.getCounter() != self._list_seen:
            self.init()
        if self.useConstantForce.get():
            self.share(force, self._triangles, self.pressure.get() * self._areas[:, None])
            return
        lower = np.tril(self.cauchyStress.get().reshape(3, 3))
        stress = lower + np.tril(lower, -1).T
        x = self.state._data["position"].get()
        a, b, c = (x[self._triangles[:, i]] for i in range(3))
        self.share(force, self._triangles, np.cross(b - a, c - a) / 2.0 @ stress)


class QuadPressureForceField(ElementPressure):
    """`pressure` times area at rest on the quadrilaterals of `quadList`.

    Without a list on those whose corners all lie between the planes normal . x = dmin and dmax.
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
            numbers = between(self, self.find_topology().elements("quads"))
        self._quads = self.chosen("quads", numbers, "quadList")
        a, b, c, d = (self.rest()[self._quads[:, i]] for i in range(4))
        halves = np.cross(b - a, c - a), np.cross(c - a, d - a)
        self._areas = (np.linalg.norm(halves[0], axis=1) + np.linalg.norm(halves[1], axis=1)) / 2.0
        self._pressure = self.pressure.get().copy()

    def add_force(self, force: np.ndarray) -> None:
        """See ForceField; a new pressure acts from the next time on, as in SOFA."""
        self.share(force, self._quads, self._pressure * self._areas[:, None])
        self._pressure = self.pressure.get().copy()


def numbered(
    field: Component, every: np.ndarray, numbers: np.ndarray, kind: str, name: str
) -> np.ndarray:
    """The elements of these numbers, which the Data `name` gave.

    Raises:
        SceneError: one of them does not exist.
    """
    if len(wrong := numbers[(numbers < 0) | (numbers >= len(every))]):
        raise field.fault(
            f"names number {wrong[0]} in '{name}', but there are {len(every)} {kind}."
        )
    return every[numbers]


def between(field: ElementPressure, elements: np.ndarray) -> np.ndarray:
    """Numbers of the elements whose corners all lie between the planes that a field names."""
    height = field.rest() @ field._data["normal"].get()
    inside = (height > field._data["dmin"].get()) & (height < field._data["dmax"].get())
    return np.flatnonzero(inside[elements].all(axis=1))


class EdgePressureForceField(ElementPressure):
    """`pressure` times length at rest on edges, half of it on each end.

    Without a pressure: p_intensity times length at rest along the edges' normals, binormal x edge,
    at the positions of the last step, as in SOFA, whose k-th force there has the length of the
    topology's k-th edge, whichever is chosen. The edges are those of `edgeIndices`, or `edges`,
    or those that lie between the planes normal . x = dmin and dmax.
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
        a, b = (self.rest()[self._edges[:, i]] for i in range(2))
        self._lengths = np.linalg.norm(b - a, axis=1)
        first = self.find_topology().elements("edges")[: len(self._edges)]
        self._first_lengths = np.linalg.norm(np.subtract(*self.rest()[first.T]), axis=1)
        along_normals = len(self.p_intensity.get()) and not self.pressure.get().any()
        if along_normals and not self.binormal.get().any():
            problem = self.fault(
                "has 'p_intensity' but no 'binormal', and does not look for the edges' triangles: "
                "give the normal of the plane in which the edges lie as 'binormal'."
            )
            complain(self, problem, " Its forces are 0, as in SOFA.")
        if along_normals and len(first) < len(self._edges):
            given = f"{len(self._edges)} numbers in 'edgeIndices'"
            raise self.fault(f"has {given}, but there are {len(first)} edges.")
        self._forces = self._present()

    @override
    def count_of(self, per: str) -> tuple[int, str]:
        return len(self._edges), "edges"

    def _chosen_edges(self) -> np.ndarray:
        is_chosen = len(self.edgeIndices.get()) or len(self.edges.get())
        if is_chosen or len(self.find_topology().elements("triangles")):
            return self.chosen("edges", self._numbers(), "edgeIndices")
        problem = self.fault("has no 'edgeIndices' and no 'edges', and its topology no triangles.")
        complain(self, problem, " It has no effect, as in SOFA.")
        return np.empty((0, 2), dtype=np.int64)

    def _numbers(self) -> np.ndarray:
        every = self.find_topology().elements("edges")
        if len(self.edges.get()):
            place = {tuple(edge): i for i, edge in enumerate(every.tolist())}
            missing = [edge for edge in self.edges.get().tolist() if tuple(edge) not in place]
            if missing:
                raise self.fault(f"names the edge {missing[0]}, which its topology does not have.")
            return np.array([place[tuple(edge)] for edge in self.edges.get().tolist()])
        if len(self.edgeIndices.get()):
            return self.edgeIndices.get()
        if self.dmin.get() != self.dmax.get():
            return between(self, every)
        return np.empty(0, dtype=np.int64)

    def _present(self) -> np.ndarray:
        """Force on each edge at the present positions, shape (k, 3)."""
        if self.pressure.get().any() or not len(self.p_intensity.get()):
            return self.pressure.get() * self._lengths[:, None]
        x = self.state._data["position"].get()
        tangent = x[self._edges[:, 1]] - x[self._edges[:, 0]]
        normal = np.cross(self.binormal.get(), tangent)
        length = np.linalg.norm(normal, axis=1, keepdims=True)
        normal /= np.where(length > 0.0, length, 1.0)
        given = self.p_intensity.get()
        numbers = np.arange(len(self._edges))
        intensity = given[np.where(numbers < len(given), numbers, 0)]
        forces: np.ndarray = normal * (intensity * self._first_lengths)[:, None]
        return forces

    @override
    def add_force(self, force: np.ndarray) -> None:
        self.share(force, self._edges, self._forces)
        self._forces = self._present()

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"forces": self._forces.copy()}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self._forces = snapshot["forces"].copy()
