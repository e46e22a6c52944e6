"""DistanceMapping: lengths of edges as coordinates."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse
from typing_extensions import override

from sofa_softctl.runtime.behavior.mapping import Mapping
from sofa_softctl.runtime.behavior.mechanics import ForceField, Pairs
from sofa_softctl.runtime.components.topology.base import linked_topology
from sofa_softctl.runtime.core.data.types import Bool, Choice, Color, Real, Reals
from sofa_softctl.runtime.core.link import LinkType

_LENGTH_MIN = np.finfo(float).eps
"""Smallest distance of two nodes with a direction."""


class DistanceMapping(Mapping):
    """Each edge a-b of a topology becomes the coordinate |x_b - x_a| minus its rest length.

    Rest lengths are by default the lengths at init, or 0 with computeDistance. With u the direction
    of an edge, v = u . (v_b - v_a); if two nodes coincide, u is (1, 1, 1) / sqrt(3), as in SOFA.
    Bodies count with their centres.
    """

    drives = (("Vec3", "Vec1"), ("Rigid3", "Vec1"))

    topology = LinkType("Topology that has the edges; the node's own by default.", kind="topology")
    computeDistance = Bool(
        False, "Rest lengths are 0: the coordinates are distances.", follows="start"
    )
    restLengths = Reals([], "Rest length of each edge.", unit="length", per="edge", shared=False)
    geometricStiffness = Choice(
        "Stabilized",
        "Stiffness from forces that rotate with the edges; Stabilized: only of edges that pull.",
        choices=("None", "Exact", "Stabilized"),
    )
    showObjectScale = Real(0.0, "Size of the drawn edges.")
    showColor = Color([1.0, 1.0, 0.0, 1.0], "Color of the drawn edges.")

    def init(self) -> None:
        """Find edges and rest lengths.

        Raises:
            SceneError: there are no edges, or an edge names a node beyond the driver's.
        """
        self.check_templates()
        topology = linked_topology(self, "needs edges: link to a 'topology' that has some.")
        self.edges = np.ascontiguousarray(topology.elements("edges"), dtype=np.int64)
        count = len(self.edges)
        if not count:
            raise self.fault(f"finds no edges in {topology.describe()}.")
        if self.edges.max() >= self.parent.count:
            raise self.fault(
                f"has an edge with node {self.edges.max()}, but {self.parent.describe()} has "
                f"{self.parent.count} nodes."
            )
        self.direction, self.length = np.zeros((count, 3)), np.zeros(count)
        self._measure(self.parent.position.get())
        if len(self.restLengths.get()) != count:
            start = 0.0 if self.computeDistance.get() else 1.0
            self.restLengths.set(start * self.length)
        self.child.resize(np.zeros((count, 1)))
        if self.geometricStiffness.get() != "None":
            self.geometric = EdgeStiffness(self)
        self.place()

    @override
    def give_nodes(self) -> None:
        self.init()

    @override
    def count_of(self, per: str) -> tuple[int, str]:
        return len(self.edges), "edges"

    def _measure(self, x: np.ndarray) -> None:
        """Compute direction and length of each edge at x."""
        gap = x[self.edges[:, 1], :3] - x[self.edges[:, 0], :3]
        self.length = np.linalg.norm(gap, axis=1)
        is_long = self.length > _LENGTH_MIN
        unit = gap / np.where(is_long, self.length, 1.0)[:, None]
        self.direction = np.where(is_long[:, None], unit, 1.0 / np.sqrt(3.0))

    @override
    def snapshot(self) -> dict[str, np.ndarray]:
        return {"direction": self.direction, "length": self.length}  # never written in place

    @override
    def restore(self, snapshot: dict[str, np.ndarray]) -> None:
        self.direction, self.length = snapshot["direction"], snapshot["length"]

    def apply(self, x: np.ndarray, out: np.ndarray) -> None:
        """Compute the coordinates, and J at these positions."""
        self._measure(x)
        if len(rest := self.restLengths.get()) != len(self.length):
            raise self.fault(f"has {len(rest)} 'restLengths' for {len(self.length)} edges.")
        out[:, 0] = self.length - rest

    @override
    def apply_j(self, v: np.ndarray, out: np.ndarray) -> None:
        gap = v[self.edges[:, 1], :3] - v[self.edges[:, 0], :3]
        out[:, 0] = np.einsum("ei,ei->e", self.direction, gap)

    @override
    def add_jt(self, force: np.ndarray, out: np.ndarray) -> None:
        along = force * self.direction
        np.add.at(out[:, :3], self.edges[:, 0], -along)
        np.add.at(out[:, :3], self.edges[:, 1], along)

    @property
    def has_constant_weights(self) -> bool:
        """False, since J rotates with the edges."""
        return False

    @override
    def jacobian(self, driver: int = 0) -> sparse.csr_array:
        count, width = len(self.edges), self.parent.deriv_size
        rows = np.repeat(np.arange(count), 6)
        cols = (width * self.edges[:, :, None] + np.arange(3)).ravel()
        values = np.stack([-self.direction, self.direction], axis=1).ravel()
        shape = (3 * self.child.block_count, 3 * self.parent.block_count)
        return sparse.coo_array((values, (rows, cols)), shape=shape).tocsr()


class EdgeStiffness(ForceField):
    """K = -d(J^T f)/dx of a DistanceMapping for constant forces f on its coordinates.

    An edge of length l with the force f has -f / l (1 - u u^T) on the diagonal and the opposite
    between its nodes. 'Stabilized' ignores edges that push, f > 0: their K is not positive. The
    forces are read by `update`, with the multipliers of the last step.
    """

    def __init__(self, mapping: DistanceMapping) -> None:
        super().__init__()
        self.mapping = mapping
        self.state = mapping.parent
        self.blocks = np.zeros((len(mapping.edges), 3, 3))
        step = 2 if self.state.kind.name == "Rigid3" else 1  # rows of three scalars a node
        a, b = step * mapping.edges.T
        self._pairs = (np.concatenate([a, b, a]), np.concatenate([a, b, b]))

    def update(self, lambda_factor: float) -> None:
        """Read the present forces; lambda_factor is the force per multiplier."""
        mapping, child = self.mapping, self.mapping.child
        force = child.force.get()[:, 0] + lambda_factor * child.lam[:, 0]
        if mapping.geometricStiffness.get() == "Stabilized":
            force = np.minimum(force, 0.0)
        is_long = mapping.length > _LENGTH_MIN
        slope = np.where(is_long, -force / np.where(is_long, mapping.length, 1.0), 0.0)
        u = mapping.direction
        self.blocks = slope[:, None, None] * (np.eye(3) - u[:, :, None] * u[:, None, :])

    def add_force(self, force: np.ndarray) -> None:
        """Add nothing: the mapping passes the forces on."""

    @override
    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        a, b = self.mapping.edges.T
        change = factor * np.einsum("eij,ej->ei", self.blocks, v[b, :3] - v[a, :3])
        np.add.at(out[:, :3], a, -change)
        np.add.at(out[:, :3], b, change)

    @override
    def pairs(self) -> Pairs:
        return self._pairs

    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        """Add the blocks, which are symmetric, so that stored transposes are equal."""
        blocks = factor * self.blocks
        signed = np.concatenate([blocks, blocks, -blocks])
        np.add.at(values, np.where(slots >= 0, slots, ~slots), signed)
