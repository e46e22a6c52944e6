"""VectorSpringForceField: springs with a rest vector instead of a rest length."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.spring.linear import LinearSpringField, Springs
from sofa_softctl.runtime.components.topology.base import complain_without_elements, linked_topology
from sofa_softctl.runtime.core.data.types import Bool, Real, Text
from sofa_softctl.runtime.core.link import LinkType


class VectorSpringForceField(LinearSpringField):
    """f = stiffness (u - u0) + viscosity (relative velocity), u from the first to the second node.

    Springs join nodes of the same number in object1 and object2, with u0 = 0; or with useTopology
    the ends of every edge, with u0 from the rest position. As in SOFA they are not part of a direct
    solver's matrix.
    """

    acts_on = ("Vec3",)

    stiffness = Real(1.0, "Stiffness of all.", unit="force/length")
    viscosity = Real(1.0, "Damping of all.", unit="force*time/length")
    useTopology = Bool(False, "Springs along the edges of the topology.", follows="start")
    topology = LinkType("Topology that holds the edges; the node's own by default.")
    filename = Text("", "Not supported: file with springs.", follows="start")

    def init(self) -> None:
        """Check the Data; nodes are found later, as states may be incomplete.

        Raises:
            SceneError: A file is given, which is not supported.
        """
        if self.filename.get():
            raise self.fault("does not read springs from a file.")
        self._ends: tuple[np.ndarray, np.ndarray] | None = None

    def _find(self) -> tuple[np.ndarray, np.ndarray]:
        if self._ends is None:
            if self.useTopology.get():
                topology = linked_topology(
                    self, "needs a topology in its node or above, added before it."
                )
                edges = topology.elements("edges")
                if not len(edges):
                    complain_without_elements(self, "edges", topology)
                rest = self.first.rest_position.get()
                self._rest = rest[edges[:, 1]] - rest[edges[:, 0]]
                self._ends = edges[:, 0], edges[:, 1]
            else:
                nodes = np.arange(self.first.count)
                self._rest = np.zeros((len(nodes), 3))
                self._ends = nodes, nodes
            self.set_every_pair(*self._ends)
        return self._ends

    @override
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        self._find()
        return super().pairs()

    def springs(self) -> Springs:
        """Raise an error: the force law is different."""
        raise NotImplementedError

    @override
    def add_pair_force(self, force: np.ndarray) -> None:
        i, j = self.node_pairs(*self._find())
        x, v = (self.state._data[name].get() for name in ("position", "velocity"))
        k = self.stiffness.get()
        f = (x[j] - x[i] - self._rest) * k + (v[j] - v[i]) * self.viscosity.get()
        np.add.at(force, i, f)
        np.subtract.at(force, j, f)
        self.set_stiffness(i, j, k * np.eye(3) * (i != j)[:, None, None])

    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        """Add nothing: as in SOFA the springs are not part of the matrix."""
