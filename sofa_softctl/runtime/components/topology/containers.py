"""Topology containers of one kind of element."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sofa_softctl.runtime.components.topology.base import Topology
from sofa_softctl.runtime.core.data.types import Bool, UInt
from sofa_softctl.runtime.helper.message import complain


class TopologyContainer(Topology):
    """Vertices and elements of one kind; lower kinds are derived.

    Elements of other kinds are left out, even if `src` names a loader that has them.
    """

    kinds: ClassVar[tuple[str, ...]] = ()
    """Kinds of elements that SOFA's class has."""

    checkConnexity = Bool(False, "Unused.")
    checkTopology = Bool(False, "Unused: elements are always checked.")
    nbPoints = UInt(0, "Number of vertices.")

    def init(self) -> None:
        """Drop elements of other kinds, then check and derive as in Topology."""
        if self.filename.get():
            problem = "reads no 'filename', in SOFA neither: add a loader, and src='@loader' here."
            complain(self, self.fault(problem))
        for kind in ("edges", "triangles", "quads", "tetrahedra", "hexahedra"):
            data = self._data[kind]
            if kind in self.kinds or not len(data.get()):
                continue
            if data.isSet():
                problem = (
                    f"holds no {kind}: expected {' or '.join(self.kinds) or 'points only'}. They "
                    "are left out; a MeshTopology holds all kinds."
                )
                complain(self, self.fault(problem))
            data.setParent(None)
            data.set(np.empty((0, data.get().shape[1]), dtype=np.int64))
        super().init()

    def derive(self) -> None:
        """Derive elements; as in SOFA, the number of vertices does not count the state's nodes."""
        super().derive()
        by_kind = (self._data[kind].get() for kind in self.kinds)
        counts = [elements.max() + 1 for elements in by_kind if len(elements)]
        self.nbPoints.set(len(self.position.get()) or max(counts, default=0))


class PointSetTopologyContainer(TopologyContainer):
    """Points."""


class EdgeSetTopologyContainer(TopologyContainer):
    """Edges."""

    kinds = ("edges",)


class TriangleSetTopologyContainer(TopologyContainer):
    """Triangles."""

    kinds = ("edges", "triangles")


class QuadSetTopologyContainer(TopologyContainer):
    """Quadrilaterals."""

    kinds = ("edges", "quads")


class TetrahedronSetTopologyContainer(TopologyContainer):
    """Tetrahedra."""

    kinds = ("edges", "triangles", "tetrahedra")

    createTriangleArray = Bool(False, "Unused: triangles are always derived.")
    createTetrahedronArray = Bool(False, "Unused.")


class HexahedronSetTopologyContainer(TopologyContainer):
    """Hexahedra."""

    kinds = ("edges", "quads", "hexahedra")

    createQuadArray = Bool(False, "Unused: quads are always derived.")
