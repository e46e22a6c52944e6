"""Tetra2TriangleTopologicalMapping: the surface of a tetrahedral mesh."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sofa_softctl.runtime.components.topology.base import Topology
from sofa_softctl.runtime.components.topology.parts import boundary_triangles
from sofa_softctl.runtime.components.topology.topological_mapping import TopologicalMapping
from sofa_softctl.runtime.core.data.types import Bool


class Tetra2TriangleTopologicalMapping(TopologicalMapping):
    """Fills a topology with the faces that belong to one tetrahedron only, in SOFA's order.

    Normals point out of tetrahedra of positive volume; each triangle starts with its smallest
    vertex. Departure from SOFA: also where the input lists triangles of its own, the faces are
    those of the tetrahedra; SOFA stops with errors, or crashes, when that list is not complete.
    """

    needs: ClassVar[str] = "tetrahedra"

    flipNormals = Bool(False, "Turn the normals round.")
    noNewTriangles = Bool(False, "Unused: the mesh does not change.")
    noInitialTriangles = Bool(False, "Leave the output empty.")

    def mapped(self, source: Topology) -> dict[str, np.ndarray]:
        """See TopologicalMapping."""
        triangles = boundary_triangles(source._data["tetrahedra"].get())
        if self.noInitialTriangles.get():
            triangles = triangles[:0]
        return {"triangles": triangles[:, [0, 2, 1] if self.flipNormals.get() else [0, 1, 2]]}
