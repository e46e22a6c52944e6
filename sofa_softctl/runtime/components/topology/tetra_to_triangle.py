"""Tetra2TriangleTopologicalMapping: the surface of a tetrahedral mesh."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sofa_softctl.runtime.components.topology.base import Topology, boundary_triangles
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool
from sofa_softctl.runtime.core.link import LinkType


class Tetra2TriangleTopologicalMapping(Component):
    """Fills a topology with the faces that belong to one tetrahedron only, in SOFA's order.

    Normals point out of tetrahedra of positive volume; each triangle starts with its smallest
    vertex. Vertices keep their numbers; their positions are for an IdentityMapping to bring.
    Departure from SOFA: also where the input lists triangles of its own, the faces are those of the
    tetrahedra; SOFA stops with errors, or crashes, when that list is not complete.
    """

    category: ClassVar[str] = "topological mapping"

    input = LinkType("Topology with the tetrahedra; of the node above by default.", kind="topology")
    output = LinkType("Topology to fill; the node's own by default.", kind="topology")
    flipNormals = Bool(False, "Turn the normals round.")
    noNewTriangles = Bool(False, "Unused: the mesh does not change.")
    noInitialTriangles = Bool(False, "Leave the output empty.")

    def init(self) -> None:
        """Find the faces.

        Raises:
            SceneError: a topology is missing, or the input has no tetrahedra.
        """
        source, target = self._topologies()
        tetrahedra = source._data["tetrahedra"].get()
        if not len(tetrahedra):
            raise self.fault(f"finds no tetrahedra in {source.describe()}.")
        triangles = boundary_triangles(tetrahedra)
        if self.noInitialTriangles.get():
            triangles = triangles[:0]
        order = [0, 2, 1] if self.flipNormals.get() else [0, 1, 2]
        target._data["triangles"].set(np.ascontiguousarray(triangles[:, order]))

    def _topologies(self) -> tuple[Topology, Topology]:
        source: Any = self._links["input"].getLinkedBase()
        target: Any = self._links["output"].getLinkedBase()
        node = self._context
        if target is None and node is not None:
            target = next(iter(node.of("topology")), None)
        if source is None and node is not None and node.parents:
            source = node.parents[0].find_upward("topology")
        if source is None or target is None:
            missing, place = ("input", "above") if source is None else ("output", "in")
            raise self.fault(
                f"has no {missing}: add a topology {place} its node, or link it with "
                f"{missing}='@...'."
            )
        return source, target
