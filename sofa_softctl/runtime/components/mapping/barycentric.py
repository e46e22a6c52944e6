"""BarycentricMapping: points carried by the elements of a mesh."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.mapping import Weights
from sofa_softctl.runtime.components.mapping.linear import LinearMapping
from sofa_softctl.runtime.components.topology.base import Topology
from sofa_softctl.runtime.components.topology.containers import TopologyContainer
from sofa_softctl.runtime.core.data.types import Bool
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.kernels.mapping.barycentric import locate, nearest_in_cells


class BarycentricMapping(LinearMapping):
    """Each node keeps its barycentric weights in the element that carried it at init.

    Of several elements that contain a node, the one in which it lies deepest carries it. A node
    outside of all gets the element with the nearest centroid, and weights outside [0, 1]; in a
    TetrahedronSetTopologyContainer and the like, the nearest one in its cell. In hexahedra the
    eight weights are products of coordinates along the edges; in a RegularGridTopology a node
    outside gets the nearest cell, in a SparseGridTopology the boundary cell with the nearest
    center. Without a topology, nodes do not move.
    """

    useRestPosition = Bool(False, "Find the elements in the rest position.", follows="start")
    input_topology = LinkType(
        "Topology of the elements; of the driver's node by default.", kind="topology"
    )
    output_topology = LinkType("Unused.")
    mapper = LinkType("Unused: chosen by the topology.")

    _has_topology = True
    """True if there is a topology."""

    def find_weights(self) -> None:
        """Find the element and the weights of each node.

        Raises:
            SceneError: the topology has no elements, or a node is too far from them.
        """
        parent, child = self.parent, self.child
        name = "rest_position" if self.useRestPosition.get() else "position"
        x, points = parent._data[name].get(), child._data[name].get()
        topology = self._find_topology(parent)
        self._has_topology = topology is not None
        if topology is None:
            complain(self, self.fault(f"needs a topology beside {parent.describe()}."))
            self.set_weights(np.empty((len(points), 0)), np.empty((len(points), 0)))
            return
        tetrahedra = topology.tetrahedra.get()
        hexahedra = topology.hexahedra.get()
        in_cells = isinstance(topology, TopologyContainer)
        if len(hexahedra) and not len(tetrahedra):
            from sofa_softctl.runtime.kernels.mapping.hexahedral import (
                locate_in_hexahedra,
                trilinear,
            )

            in_grid = topology.cells_at(points)
            best, inner = in_grid or locate_in_hexahedra(points, x, hexahedra)
            if in_cells:
                outside = np.maximum(-inner, inner - 1.0).max(axis=1) > 0.0
                edges = topology.elements("edges")
                for k, e in nearest_in_cells(points, outside, x, hexahedra, edges):
                    best[k] = e
                    inner[k] = locate_in_hexahedra(points[[k]], x, hexahedra[[e]])[1]
            self.set_weights(hexahedra[best], trilinear(inner))
            return
        triangles = topology.elements("triangles")
        elements = np.ascontiguousarray(tetrahedra if len(tetrahedra) else triangles)
        if not len(elements):
            raise self.fault(f"finds neither tetrahedra nor triangles in {topology.describe()}.")
        best, inner = np.empty(len(points), np.int64), np.zeros((len(points), 3))
        outside = locate(points, x, elements, best, inner) > 0.0
        if in_cells:
            edges = topology.elements("edges")
            for k, e in nearest_in_cells(points, outside, x, elements, edges):
                locate(points[[k]], x, elements[[e]], best[k : k + 1], inner[k : k + 1])
                best[k] = e
        inner = inner[:, : elements.shape[1] - 1]
        if (best < 0).any():
            raise self.fault(
                f"finds no element near {int((best < 0).sum())} of {len(points)} nodes, first "
                f"node {int(np.flatnonzero(best < 0)[0])}."
            )
        weights = np.concatenate([1.0 - inner.sum(axis=1, keepdims=True), inner], axis=1)
        self.set_weights(elements[best], weights)

    @override
    def apply(self, x: np.ndarray, out: np.ndarray) -> None:
        if self._has_topology:
            super().apply(x, out)

    @override
    def point_weights(self) -> list[Weights] | None:
        return super().point_weights() if self._has_topology else None

    def _find_topology(self, parent: Any) -> Topology | None:
        topology: Any = self._links["input_topology"].getLinkedBase()
        return parent._context.find_upward("topology") if topology is None else topology
