"""Quad2TriangleTopologicalMapping: quads cut in two."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sofa_softctl.runtime.components.topology.base import Topology
from sofa_softctl.runtime.components.topology.grid import cells_across
from sofa_softctl.runtime.components.topology.topological_mapping import TopologicalMapping


class Quad2TriangleTopologicalMapping(TopologicalMapping):
    """Fills a topology with two triangles for each quad, whose diagonals alternate as in SOFA."""

    needs: ClassVar[str] = "quads"

    def mapped(self, source: Topology) -> dict[str, np.ndarray]:
        """See TopologicalMapping.

        Raises:
            SceneError: the input is a grid along one line.
        """
        quads = source.elements("quads")
        n_x, n_y = cells_across(source)
        row = n_x or n_y
        if not row:
            raise self.fault(f"needs a surface, but {source.describe()} is a line.")
        number = np.arange(len(quads))
        odd = (number % row ^ number // row) & 1 == 1
        triangles = quads[:, [(1, 2, 0), (3, 0, 2)]]
        triangles[odd] = quads[odd][:, [(0, 1, 3), (2, 3, 1)]]
        return {"triangles": triangles.reshape(-1, 3)}
