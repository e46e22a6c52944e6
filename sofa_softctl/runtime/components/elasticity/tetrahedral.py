"""Base class of force fields on tetrahedra, with checks of the mesh."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.mechanics import ForceField
from sofa_softctl.runtime.components.topology.base import complain_without_elements, linked_topology
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.mesh.checks import signed_volumes


class TetrahedralForceField(ForceField):
    """A force field on the tetrahedra of a topology, with the state's rest_position."""

    reads_rest = "start"

    elements: np.ndarray
    """Tetrahedra, shape (m, 4)."""
    cuts_hexahedra: ClassVar[bool] = False
    """True if it cuts hexahedra in six without tetrahedra, as SOFA's class does."""

    topology = LinkType(
        "Topology that holds the tetrahedra; the node's own by default.", kind="topology"
    )

    def find_elements(self) -> np.ndarray:
        """Return the tetrahedra, all with a volume in the rest position, shape (m, 4).

        Raises:
            SceneError: no topology, a vertex beyond the state's nodes, or a flat tetrahedron.
        """
        topology = linked_topology(
            self,
            "needs tetrahedra: add a TetrahedronSetTopologyContainer or MeshTopology to its node.",
        )
        elements = np.ascontiguousarray(topology.tetrahedra.get())
        if self.cuts_hexahedra and not len(elements):
            from sofa_softctl.runtime.components.topology.grid import cells_across
            from sofa_softctl.runtime.components.topology.mappings import (
                mirror_alternately,
                six_tetrahedra,
            )

            cells, _ = mirror_alternately(topology.hexahedra.get(), cells_across(topology))
            elements = np.ascontiguousarray(six_tetrahedra(cells))
        if not len(elements):
            advice = (
                " A surface mesh is not enough: it must be filled with tetrahedra first "
                "(docs/how-to/make-a-mesh.md)."
            )
            complain_without_elements(self, "tetrahedra", topology, advice)
            return np.empty((0, 4), dtype=np.int64)
        if elements.max() >= self.state.count:
            raise self.fault(
                f"has a tetrahedron with vertex {elements.max()}, but {self.state.describe()} "
                f"has {self.state.count} nodes."
            )
        self._check_volumes(elements)
        return elements

    @override
    def inverted_elements(self) -> int:
        volumes = signed_volumes(self.state.position.get(), self.elements)
        rest = signed_volumes(self.state.rest_position.get(), self.elements)
        return int((volumes * rest <= 0.0).sum())

    def _check_volumes(self, elements: np.ndarray) -> None:
        x0 = self.state.rest_position.get()
        edges = x0[elements[:, 1:]] - x0[elements[:, :1]]
        longest = np.linalg.norm(edges, axis=2).max(axis=1)
        is_flat = np.abs(np.linalg.det(edges)) <= 1e-12 * longest**3
        if is_flat.any():
            first = int(np.flatnonzero(is_flat)[0])
            raise self.fault(
                f"has {int(is_flat.sum())} of {len(is_flat)} tetrahedra without volume, first "
                f"tetrahedra[{first}] = {elements[first].tolist()}. Repair the mesh: a flat "
                "tetrahedron has no stiffness."
            )
