"""Topological mappings to the boundary of a mesh."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sofa_softctl.runtime.components.topology.base import Topology
from sofa_softctl.runtime.components.topology.parts import (
    EDGES_OF_TRIANGLE,
    faces_of_hexahedra,
    first_of_each,
)
from sofa_softctl.runtime.components.topology.topological_mapping import TopologicalMapping
from sofa_softctl.runtime.core.data.types import Bool


class Hexa2QuadTopologicalMapping(TopologicalMapping):
    """Fills a topology with the quads that belong to one hexahedron only, in SOFA's order.

    Also where the input lists quads of its own, as a grid does, it is these that are looked at.
    """

    needs: ClassVar[str] = "hexahedra"

    flipNormals = Bool(False, "Turn the normals round.")

    def mapped(self, source: Topology) -> dict[str, np.ndarray]:
        """See TopologicalMapping."""
        quads = source.elements("quads")
        faces, counts = faces_of_hexahedra(source._data["hexahedra"].get())
        sides = np.sort(faces[counts == 1], axis=1)
        outer = {tuple(side) for side in sides.tolist()}
        chosen = [tuple(quad) in outer for quad in np.sort(quads, axis=1).tolist()]
        quads = quads[np.array(chosen, dtype=bool)]
        return {"quads": quads[:, ::-1] if self.flipNormals.get() else quads}


class Triangle2EdgeTopologicalMapping(TopologicalMapping):
    """Fills a topology with the edges that belong to one triangle only, in SOFA's order."""

    needs: ClassVar[str] = "triangles"

    def mapped(self, source: Topology) -> dict[str, np.ndarray]:
        """See TopologicalMapping."""
        triangles, edges = source.elements("triangles"), source.elements("edges")
        sides, counts = first_of_each(triangles[:, EDGES_OF_TRIANGLE].reshape(-1, 2))
        outer = {tuple(side) for side in np.sort(sides[counts == 1], axis=1).tolist()}
        chosen = [tuple(edge) in outer for edge in np.sort(edges, axis=1).tolist()]
        return {"edges": edges[np.array(chosen, dtype=bool)]}
