"""Base class of masses spread over the elements of a topology."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import Mass
from sofa_softctl.runtime.components.topology.base import Topology, linked_topology
from sofa_softctl.runtime.components.topology.mappings import PARTS as HEXAHEDRON
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Bool, Real, Reals, Text
from sofa_softctl.runtime.core.link import LinkType


class TopologicalMass(Mass):
    """Mass in proportion to the size of the elements, of the highest dimension that there is.

    Of two kinds of one dimension those with more sides count: hexahedra, or quads.
    """

    totalMass = Real(1.0, "Mass of the whole body.", unit="mass")
    massDensity = Reals([1.0], "Mass of a unit of volume, area or length.")
    topology = LinkType(
        "Topology that holds the elements; the node's own by default.", kind="topology"
    )
    showGravityCenter = Bool(False, "Draw the centre of mass.")
    showAxisSizeFactor = Real(1.0, "Size of the drawn axes.")
    printMass = Bool(False, "Unused.")
    filename = Text("unused", "Not supported: file with masses.", aliases=("fileMass",))
    geometryState = LinkType("Unused: the state is that of the node.")
    rayleighStiffness = Real(0.0, "Unused: a mass has no stiffness.", unit="time")
    graph = Text("", "Unused.", linkable=False)

    on_rest: ClassVar[bool] = True

    def elements(self) -> tuple[np.ndarray, np.ndarray, str]:
        """Elements (m, 2 to 8) of the highest dimension, the mass of each (m,), and their kind.

        Raises:
            SceneError: there is no topology or it has no elements, or the mass is not positive.
        """
        if self.filename.isSet() and self.filename.get() != "unused":
            raise self.fault("does not read masses from a file: give massDensity or totalMass.")
        topology = self.find_topology()
        for kind in ("hexahedra", "tetrahedra", "quads", "triangles", "edges"):
            found = topology.elements(kind)
            if len(found):
                break
        else:
            raise self.fault(f"finds no elements in {topology.describe()}.")
        state = self.state._data
        points = state["rest_position" if self.on_rest else "position"].get()
        sizes = element_sizes(points, found, kind)
        density, total = self.massDensity, self.totalMass
        by_density = density.isSet() and not total.isSet()
        if by_density:
            rho = density.get()[0]
        else:
            rho = total.get() / sizes.sum()
        if not rho > 0.0:
            raise self.fault(f"needs a positive mass, got {rho * sizes.sum():g}.")
        total.set(float(rho * sizes.sum()))
        self._size = float(sizes.sum())
        self._given = density if by_density else total
        self._amount = float(np.ravel(self._given.get())[0])
        return found, rho * sizes, kind

    def find_topology(self) -> Topology:
        """The linked topology, or that of the node."""
        return linked_topology(
            self,
            "needs a topology: add a TetrahedronSetTopologyContainer or MeshTopology to its node, "
            "or use UniformMass.",
        )

    def reinit(self) -> None:
        """Distribute the mass again."""
        self.init()

    def data_changed(self, data: Data) -> None:
        """A mass that changes in a run counts at once: the one of the two that was given first."""
        if not self._initialised or data.type.name not in ("totalMass", "massDensity"):
            return
        if "_given" not in vars(self):
            return
        if data is not self._given:
            self._show()
            return
        amount = float(np.ravel(data.get())[0])
        if not amount > 0.0:
            raise self.fault(f"needs a positive mass, got {data.type.name} {amount:g}.")
        self.scale(amount / self._amount)
        self._amount = amount
        self._show()

    def _show(self) -> None:
        """Let totalMass and massDensity say what counts."""
        rho = self._amount if self._given is self.massDensity else self._amount / self._size
        self.massDensity.set(np.array([rho]))
        self.totalMass.set(rho * self._size)


_QUAD = [(0, 1, 2), (0, 2, 3)]
_SIMPLICES: dict[str, Sequence[tuple[int, ...]]] = {"hexahedra": HEXAHEDRON, "quads": _QUAD}
"""Into what SOFA cuts an element to find its size."""


def element_sizes(points: np.ndarray, elements: np.ndarray, kind: str) -> np.ndarray:
    """Volume, area or length of the elements of a kind, shape (m,)."""
    if kind in _SIMPLICES:
        parts = [elements[:, part] for part in _SIMPLICES[kind]]
        total: np.ndarray = np.sum([_simplex_sizes(points, part) for part in parts], axis=0)
        return total
    return _simplex_sizes(points, elements)


def _simplex_sizes(points: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """Of tetrahedra, triangles or edges."""
    a = points[elements[:, 0]]
    sides = [points[elements[:, i]] - a for i in range(1, elements.shape[1])]
    if len(sides) == 3:
        return np.abs(np.einsum("ij,ij->i", np.cross(sides[0], sides[1]), sides[2])) / 6.0
    if len(sides) == 2:
        return np.linalg.norm(np.cross(sides[0], sides[1]), axis=1) / 2.0
    return np.linalg.norm(sides[0], axis=1)
