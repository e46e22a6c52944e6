"""VolumeFromTriangles and VolumeFromTetrahedrons (SoftRobots): volume of a mesh."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.base.source_line import describe
from sofa_softctl.runtime.components.engine.base import Engine
from sofa_softctl.runtime.components.topology.base import topology_of
from sofa_softctl.runtime.core.data.types import Bool, Elements, Real, Vectors
from sofa_softctl.runtime.helper import message


class VolumeOf(Engine):
    """Volume at init, or with `update` of the present positions of the node's state.

    Positions default to the node's state, elements to the node's topology.
    """

    kinds: ClassVar[dict[str, str]] = {}
    """Data of elements, and the kind of the topology."""
    _follows_state = False
    """True if the positions are the state's."""

    positions = Vectors(3, [], "Vertices; of the node's state by default.", unit="length")
    volume = Real(0.0, "Volume.", unit="length^3", computed=True)
    update = Bool(False, "Follow the positions of the state.")

    def init(self) -> None:
        """Find positions and elements, and compute.

        Raises:
            SceneError: there are no positions, or an element names one that does not exist.
        """
        if not (self.positions.isSet() or self.positions.hasParent()):
            state: Any = None if self._context is None else self._context.find_upward("state")
            if state is None:
                raise self.fault("finds no positions: give 'positions', or add a MechanicalObject.")
            self.positions.setParent(state.position)
            self._follows_state = True
        topology = topology_of(self._context)
        for name, kind in self.kinds.items():
            data = self._data[name]
            if not (data.isSet() or data.hasParent()) and topology is not None:
                data.set(topology.elements(kind).copy())
            if len(data.get()) and data.get().max() >= len(self.positions.get()):
                raise self.fault(
                    f"has '{name}' of vertex {data.get().max()}, but {len(self.positions.get())} "
                    "positions."
                )
        super().init()
        self._is_ready = True
        self.update_outputs()

    @override
    def compute(self) -> None:
        follows = self._follows_state and self.update.get()
        if self._is_ready and (self._input_counters is None or follows):
            self.check_own_numbers()
            self.volume.set(abs(self.signed_volume(self.positions.get())))

    def signed_volume(self, x: np.ndarray) -> float:
        """Return the volume with the sign of the elements' winding."""
        raise NotImplementedError


class VolumeFromTriangles(VolumeOf):
    """Volume inside a closed surface of triangles and quads."""

    inputs = ("positions", "triangles", "quads")
    kinds = {"triangles": "triangles", "quads": "quads"}

    triangles = Elements(3, [], "Triangles; of the node's topology by default.", of="positions")
    quads = Elements(4, [], "Quads; of the node's topology by default.", of="positions")

    @override
    def signed_volume(self, x: np.ndarray) -> float:
        quads = self.quads.get()
        faces = [self.triangles.get(), quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]
        a, b, c = np.moveaxis(x[np.concatenate(faces)], 1, 0)
        area_vectors = np.cross(b - a, c - a)[:, 0]
        return float((area_vectors * (a + b + c)[:, 0]).sum() / 6.0)


class VolumeFromTetrahedrons(VolumeOf):
    """Volume of tetrahedra and hexahedra.

    SoftRobots adds three corners of a hexahedron and subtracts the fourth, so that a box counts a
    third of its volume; so does this class, with a warning.
    """

    inputs = ("positions", "tetras", "hexas")
    kinds = {"tetras": "tetrahedra", "hexas": "hexahedra"}

    tetras = Elements(4, [], "Tetrahedra; of the node's topology by default.", of="positions")
    hexas = Elements(
        8, [], "Hexahedra; of the node's topology by default.", of="positions", follows="reinit"
    )

    @override
    def signed_volume(self, x: np.ndarray) -> float:
        if len(self.hexas.get()):
            message.warning(
                self,
                f"{describe(self._where)}: {self.describe()} has hexahedra, of whose volume "
                "SoftRobots counts a third only, and so does it; cut them into tetrahedra with "
                "Hexa2TetraTopologicalMapping.",
            )
        corners = self.hexas.get()[:, _CORNERS].reshape(-1, 4)
        elements = np.concatenate([self.tetras.get(), corners])
        edges = x[elements[:, 1:]] - x[elements[:, :1]]
        return float(np.linalg.det(edges).sum() / 6.0)


_CORNERS = [(6, 1, 2, 3), (4, 0, 1, 3), (5, 4, 6, 1), (7, 4, 6, 3)]
"""Tetrahedra at four corners of a hexahedron, oriented as in SoftRobots."""
