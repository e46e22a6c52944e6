"""CableConstraint: imposed displacement or force."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import (
    LagrangianConstraint,
    RowBlock,
    imposed_value,
    read_limit,
)
from sofa_softctl.runtime.behavior.roles import Cable
from sofa_softctl.runtime.components.topology.base import topology_of
from sofa_softctl.runtime.core.data.types import Bool, Choice, Color, Real, Reals, UInt, Vectors
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects
from sofa_softctl.runtime.kernels.constraint.cable import cable_geometry, cable_rows
from sofa_softctl.runtime.kernels.constraint.gauss_seidel import (
    IMPOSE_DELTA,
    IMPOSE_LAMBDA,
    row_parameters,
)

if TYPE_CHECKING:
    from sofa_softctl.runtime.components.constraint.cable_areas import Surface


class CableBlock(RowBlock):
    """Rows of cables."""

    members: list[CableModel]  # type: ignore[assignment]

    @override
    def read(self) -> None:
        members, first = self.members, self.first
        for member in members:
            member.update_points()
        offsets = [first[id(member.state)] for member in members]
        points = [member.indices.get() + k for member, k in zip(members, offsets, strict=True)]
        nodes = [member.nodes + k for member, k in zip(members, offsets, strict=True)]
        starts = np.concatenate([[0], np.cumsum([len(part) for part in points])])
        owner = [member.owner + k for member, k in zip(members, starts, strict=False)]
        ends = np.concatenate([[0], np.cumsum([len(part) for part in nodes])])
        count, directions = len(members), np.zeros((ends[-1], 3))
        self.length, self.motion = np.zeros(count), np.zeros(count)
        self._arguments = (
            starts,
            np.concatenate(points),
            np.array([member.pullPoint.get() for member in members]),
            np.array([member.hasPullPoint.get() for member in members]),
            ends,
            np.concatenate(owner),
            np.concatenate(nodes),
            np.concatenate([member.weights for member in members]),
            np.zeros((starts[-1], 3)),
            directions,
            self.length,
            self.motion,
        )
        self._rest = np.array([member.cableInitialLength.get() for member in members])
        self._lengths = [member.cableLength for member in members]
        self.entries = []
        for k, member in enumerate(members):
            member.set_in_block(self, k)
            row = np.zeros(len(member.nodes), dtype=np.int64)
            self.entries.append((row, member.nodes, directions[ends[k] : ends[k + 1]]))
        self.has_constant_parameters = not any(member.depends_on_length() for member in members)

    @override
    def has_violation(self, member: LagrangianConstraint) -> bool:
        return type(member).violation is LagrangianConstraint.violation

    @override
    def compute(self, x: np.ndarray, x_free: np.ndarray) -> None:
        cable_rows(x, x_free, *self._arguments)
        self.violation = self.motion + (self._rest - self.length)
        for data, length in zip(self._lengths, self.length.tolist(), strict=True):
            data.set(length)


class CableModel(Cable):
    """An inextensible cable without friction through points of a state: one row.

    delta = L0 - L, positive when the cable is pulled in; lambda > 0 is tension. `force` and the
    limits on it are lambda: dt times the tension in second order, the tension in first order.

    With method sphere or geodesic each point pulls the nodes of `surfaceTopology` nearer than its
    radius, straight or along edges; the length is still measured through the points.

    Source: SoftRobots' CableModel. Departures: pulls of successive points on the same node add up
    (there only the second counts, see `keeps_sofa_defects`), and without a pull point each of two
    points has a separate area (there both have the weights of the first).
    """

    cableLength = Real(0.0, "Length at the start of the last step.", read_only=True)
    method = Choice(
        "point",
        "Nodes that it pulls: its points, or areas of a surface around them.",
        choices=("point", "sphere", "geodesic"),
        follows="reinit",
    )
    centers = Vectors(
        3,
        [],
        "Points near the surface; 'indices' become the nearest vertices.",
        unit="length",
        follows="reinit",
    )
    radii = Reals([], "Radius of each area, or one for all.", unit="length", follows="reinit")
    surfaceTopology = LinkType("The surface; by default the topology of the node.", kind="topology")
    force = Real(0.0, "lambda of the last step.", unit="lambda of force", read_only=True)
    displacement = Real(0.0, "Length pulled in.", unit="length", read_only=True)
    minForce = Real(0.0, "Smallest lambda; unset, the cable can push.", unit="lambda of force")
    maxForce = Real(0.0, "Largest lambda.", unit="lambda of force")
    eqForce = Real(0.0, "Imposed lambda (equalities).", unit="lambda of force")
    eqDisp = Real(0.0, "Imposed displacement (equalities).", unit="length")
    maxPositiveDisp = Real(0.0, "Largest length pulled in.", unit="length")
    maxNegativeDisp = Real(0.0, "Largest length let out.", unit="length")
    maxDispVariation = Real(0.0, "Largest change of displacement per step.", unit="length")
    block_type = CableBlock

    drawPullPoint = Bool(True, "Draw the pull point.")
    drawPoints = Bool(True, "Draw the points.")
    drawPulledAreas = Bool(False, "Draw the areas.")
    color = Color([0.4, 0.4, 0.4, 1.0], "Color of the cable.")

    def init(self) -> None:
        """Check the points and measure the length at rest.

        Raises:
            SceneError: a point does not exist, or there are too few points.
        """
        self._has_areas = self.method.get() != "point"
        self._replace_centers()
        self._read_points()
        if not self.cableInitialLength.isSet():
            rest = self.state.rest_position.get()
            self.cableInitialLength.set(self._measure(rest))
        self.cableLength.set(self.cableInitialLength.get())

    def update_points(self) -> None:
        """Check the points again if they have changed."""
        if self.indices.getCounter() != self._points_counter:
            self._read_points()

    def _read_points(self) -> None:
        """Check the points, and find the nodes that each of them pulls."""
        points = self.indices.get()
        if not len(points):
            complain(self, self.fault("needs at least one point in 'indices'."), " It is point 0.")
            self.indices.set(points := np.zeros(1, dtype=np.int64))
        self.check_indices(points)
        if not self.hasPullPoint.get() and len(points) < 2:
            raise self.fault("needs at least two points in 'indices' when hasPullPoint is False.")
        if not self.hasPullPoint.get():
            self.pullPoint.set(self.state.position.get()[points[0]].copy())
        self.directions = np.zeros((len(points), 3))
        self._points_counter = self.indices.getCounter()
        self._assign_nodes()

    def _replace_centers(self) -> None:
        """Set `indices` to the vertices nearest to `centers`."""
        if not self._has_areas or not len(centers := self.centers.get()):
            return
        vertices = self._surface().nearest_vertices(centers)
        if self.indices.isSet() and not np.array_equal(self.indices.get(), vertices):
            problem = "has 'centers' and 'indices': leave out 'indices', the centers count."
            complain(self, self.fault(problem))
        self.indices.set(vertices)

    def _surface(self) -> Surface:
        topology: Any = self._links["surfaceTopology"].getLinkedBase()
        if topology is None:
            topology = topology_of(self._context)
        if topology is None:
            raise self.fault(
                f"needs a surface for method '{self.method.get()}': add a MeshTopology with "
                "triangles to its node, or lead 'surfaceTopology' to one."
            )
        topology.make_ready()
        x = topology.position.get()
        x = x if len(x) else self.state.position.get()
        triangles = topology.elements("triangles")
        if not len(triangles):
            raise self.fault(
                f"needs triangles for method '{self.method.get()}', but {topology.describe()} "
                "has none."
            )
        if len(x) > self.state.count:
            raise self.fault(
                f"needs one node for each vertex of its surface: {topology.describe()} has "
                f"{len(x)} vertices, {self.state.describe()} {self.state.count} nodes."
            )
        from sofa_softctl.runtime.components.constraint.cable_areas import Surface

        return Surface(x, topology.elements("edges"), triangles)

    def depends_on_length(self) -> bool:
        """Return True if the forward solver's parameters depend on the present length."""
        return False

    def _assign_nodes(self) -> None:
        """Find the nodes that each point pulls, and their weights."""
        points = self.indices.get()
        self.owner, self.nodes = np.arange(len(points)), points
        self.weights = np.ones(len(points))
        if self._has_areas:
            from sofa_softctl.runtime.components.constraint.cable_areas import area_around
            from sofa_softctl.runtime.components.radii import radii_for

            surface, radii = self._surface(), radii_for(self, len(points), "points")
            if points.max() >= len(surface.x):
                raise self.fault(
                    f"has 'indices' up to {points.max()}, but its surface has {len(surface.x)} "
                    "vertices."
                )
            if len(self.centers.get()) and not np.isin(points, surface.triangles).all():
                raise self.fault("has a center whose nearest vertex belongs to no triangle.")
            positions, centers = self.state.position.get()[points], self.centers.get()
            areas = [
                area_around(
                    surface,
                    int(points[k]),
                    float(radii[k]),
                    along_edges=self.method.get() == "geodesic",
                    origin=positions[k],
                    center=centers[k] if len(centers) == len(points) else None,
                )
                for k in range(len(points))
            ]
            for k, (inside, _) in enumerate(areas):
                if not len(inside):
                    problem = (
                        f"does not pull at its point {k}: no node is within the radius of "
                        f"{radii[k]:g}."
                    )
                    complain(self, self.fault(problem))
            self.owner = np.repeat(np.arange(len(points)), [len(inside) for inside, _ in areas])
            self.nodes = np.concatenate([inside for inside, _ in areas])
            self.weights = np.concatenate([weights for _, weights in areas])
        if keeps_sofa_defects():  # of successive pulls on a node the second counts
            self.weights[:-1][self.nodes[1:] == self.nodes[:-1]] = 0.0

    def reinit(self) -> None:
        """Check the points again."""
        self.init()

    def reset(self) -> None:
        """Restore the state after init."""
        self.cableLength.set(self.cableInitialLength.get())
        self.force.set(0.0)
        self.displacement.set(0.0)

    def _measure(self, x: np.ndarray) -> float:
        return cable_geometry(
            x, self.indices.get(), self.pullPoint.get(), self.hasPullPoint.get(), self.directions
        )

    @override
    def build(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        self._measure(self.state.position.get())
        directions = self.directions[self.owner] * self.weights[:, None]
        return np.zeros(len(self.nodes), dtype=np.int64), self.nodes, directions

    def free_motion(self) -> float:
        """Return J (x_free - x), the shortening in the free motion."""
        block, number = self._in_block
        return float(block.motion[number])

    def set_in_block(self, block: CableBlock, number: int) -> None:
        """Take length and motion from a block, where it has this number."""
        self._in_block = block, number

    def store_start(self, lam: np.ndarray) -> None:
        """Store lambda, and the displacement at the start of the step, as SoftRobots does."""
        self.force.set(float(lam[0]))
        self.displacement.set(self.cableInitialLength.get() - self.cableLength.get())

    def check_differentiable(self) -> None:
        """Check that derivatives of the cable are known.

        Raises:
            SceneError: it pulls on areas.
        """
        if self._has_areas:
            raise self.fault(
                f"pulls on areas, by method '{self.method.get()}': derivatives and equilibria are "
                "known of cables that pull at their points, method 'point'."
            )

    @property
    def only_pulls(self) -> bool:
        """True if minForce allows no negative force."""
        return self.minForce.isSet() and self.minForce.get() >= 0.0

    limit = read_limit

    def displacement_limits(self) -> tuple[float, float]:
        """Return smallest and largest displacement, without the rate limit."""
        return (-self.limit("maxNegativeDisp", np.inf), self.limit("maxPositiveDisp", np.inf))


class CableConstraint(CableModel):
    """A cable that is pulled in by `value`, or with the force `value`.

    `displacement` belongs to the start of the step, one step behind, as in SoftRobots. Departure:
    `maxDispVariation` counts from the present length; from `displacement`, as in SoftRobots, only
    half of it would result (see `keeps_sofa_defects`).
    """

    value = Reals([0.0], "Displacements or multipliers (lambda), to choose from by valueIndex.")
    valueIndex = UInt(0, "Index of the entry of 'value' in use.")
    valueType = Choice("displacement", "Meaning of 'value'.", choices=("displacement", "force"))

    @override
    def depends_on_length(self) -> bool:
        return self.valueType.get() == "displacement" and self.maxDispVariation.isSet()

    @override
    def resolution(self) -> np.ndarray:
        value = imposed_value(self)
        low, high = self.displacement_limits()
        force_min, force_max = self.limit("minForce", -np.inf), self.limit("maxForce", np.inf)
        if self.valueType.get() == "force":
            value = max(min(value, force_max), force_min)
            row = row_parameters(IMPOSE_LAMBDA, value, delta_min=low, delta_max=high)
        else:
            rate = self.limit("maxDispVariation", np.inf)
            pulled = self.cableInitialLength.get() - self.cableLength.get()
            if keeps_sofa_defects():
                pulled = self.displacement.get()
            value = max(min(value, pulled + rate), pulled - rate)
            value = max(min(value, high), low)
            row = row_parameters(IMPOSE_DELTA, value, force_min, force_max)
        return row[None, :]

    @override
    def store(self, lam: np.ndarray, delta: np.ndarray) -> None:
        self.store_start(lam)
