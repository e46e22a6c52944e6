"""Pressures on triangles and quadrilaterals that do not follow the surface's motion."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.force.without_stiffness import ForceWithoutStiffness
from sofa_softctl.runtime.components.topology.base import Topology, linked_topology
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool, Integers, Real, Text, Vector
from sofa_softctl.runtime.core.link import LinkType


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
        return numbered(self, self.find_topology().elements(kind), numbers, kind, name)

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

    With useConstantForce=False instead cauchyStress times the area vector of the present positions;
    the step's matrix does not know of it, as in SOFA.
    """

    cauchyStress = Vector(
        9, [0.0] * 9, "Stress, row by row; of the matrix the lower half counts.", unit="pressure"
    )
    triangleList = Integers([], "Numbers of the triangles.")
    useConstantForce = Bool(True, "Take the pressure and the area at rest.")
    trianglePressureMap = Text("", "Unused.", linkable=False)
    normal = Vector(3, [0.0, 0.0, 0.0], "Removed in SOFA: choose triangles by triangleList.")
    dmin = Real(0.0, "Removed in SOFA: choose triangles by triangleList.")
    dmax = Real(0.0, "Removed in SOFA: choose triangles by triangleList.")

    def init(self) -> None:
        """Find the triangles and their areas."""
        self._list_seen = -1
        self._find()

    def _find(self) -> None:
        if self.triangleList.getCounter() == self._list_seen:
            return
        self._triangles = self.chosen("triangles", self.triangleList.get(), "triangleList")
        a, b, c = (self.rest()[self._triangles[:, i]] for i in range(3))
        self._areas = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2.0
        self._list_seen = self.triangleList.getCounter()

    def add_force(self, force: np.ndarray) -> None:
        """See ForceField."""
        self._find()
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

    quadList = Integers([], "Numbers of the quadrilaterals.")
    normal = Vector(3, [0.0, 0.0, 0.0], "Direction along which quadrilaterals are chosen.")
    dmin = Real(0.0, "Least normal . x.", unit="length")
    dmax = Real(0.0, "Greatest normal . x.", unit="length")
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
    if len(numbers) and (numbers.min() < 0 or numbers.max() >= len(every)):
        raise field.fault(
            f"names number {numbers.max()} in '{name}', but there are {len(every)} {kind}."
        )
    return every[numbers]


def between(field: ElementPressure, elements: np.ndarray) -> np.ndarray:
    """Numbers of the elements whose corners all lie between the planes that a field names."""
    height = field.rest() @ field._data["normal"].get()
    inside = (height > field._data["dmin"].get()) & (height < field._data["dmax"].get())
    return np.flatnonzero(inside[elements].all(axis=1))
