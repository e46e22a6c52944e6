"""Collision models: the points, lines, triangles or spheres of a body that can touch others."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.mechanics import SingleStateComponent
from sofa_softctl.runtime.components.collision.surface import (
    corner_flags,
    degenerate,
    joined_nodes,
    neighbours,
)
from sofa_softctl.runtime.components.topology.base import Topology
from sofa_softctl.runtime.core.data.types import Bool, Color, Integers, Real, Reals, Text, UInt
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.kernels.contact.broad_phase import element_boxes, hull_of
from sofa_softctl.runtime.kernels.contact.proximity import Surface

if TYPE_CHECKING:
    from sofa_softctl.runtime.behavior.state import MechanicalState


class CollisionModel(SingleStateComponent):
    """Elements of a state that can touch other elements."""

    category: ClassVar[str] = "collision model"
    corners: ClassVar[int]
    """Nodes of an element: of two models the one with more comes first in a pair."""

    active = Bool(True, "Takes part in the detection.")
    moving = Bool(True, "Its positions change; if not, its boxes are computed once.")
    simulated = Bool(True, "Is moved by the simulation; two that are not never touch.")
    selfCollision = Bool(False, "The models of its node touch each other.")
    proximity = Real(
        0.0, "Thickness, added to contact and alarm distance.", unit="length",
        aliases=("contactDistance",), follows="start",
    )  # fmt: skip
    contactStiffness = Real(
        10.0, "Stiffness of penalty contacts, times the other model's; 0 for no contacts."
    )
    contactFriction = Real(0.0, "Unused: for penalty contacts.")
    contactRestitution = Real(0.0, "Unused.")
    contactResponse = Text("", "Kind of contact, instead of the CollisionResponse's.")
    color = Color([1.0, 0.0, 0.0, 1.0], "Color.")
    group = Integers([], "Models of a common group do not touch.")
    numberOfContacts = UInt(0, "Number of models that it touches in this step.", read_only=True)
    topology = LinkType("Topology that holds the elements; the node's own by default.")

    @property
    def rank(self) -> float:
        """Order in a pair: the model of higher rank comes first."""
        return self.corners

    @cached_property
    def state(self) -> MechanicalState:
        """The state of the elements' nodes.

        Raises:
            SceneError: it has bodies or joints, and the model needs points.
        """
        candidate = self._find_state()
        if candidate is not None and candidate.kind.name not in self.acts_on:
            raise self.fault(
                f"needs points, but {candidate.describe()} has the template "
                f"{candidate.getTemplateName()}: put the model into a child node with a Vec3 "
                "MechanicalObject and a RigidMapping."
            )
        return super().state

    def prepare(self) -> None:
        """Find the elements and their neighbours."""
        self.elements = np.ascontiguousarray(self.find_elements(), dtype=np.int64)
        self.reach = self.find_reach()
        if self.reach.min(initial=0.0) < 0.0:
            complain(self, self.fault(f"has a thickness of {self.reach.min():g}: give 0 or more."))
        assert self._context is not None
        resting = self.simulated.get() and not self.moving.get()
        if resting and self._context.find_upward("ode solver"):
            problem = f"has moving=False, but {self.state.describe()} moves: contacts are sought"
            complain(self, self.fault(f"{problem} where it was at first. Leave 'moving' out."))
        self._boxes: np.ndarray | None = None
        self._joined_codes: dict[int, np.ndarray] = {}
        self._surface = self._build()

    def find_elements(self) -> np.ndarray:
        """Return the nodes of each element, shape (m, corners)."""
        raise NotImplementedError

    def find_reach(self) -> np.ndarray:
        """Return the thickness of each element, to add to the method's distances, shape (m,)."""
        return np.full(len(self.elements), self.proximity.get())

    def body_radius(self, element: np.ndarray) -> np.ndarray:
        """Return the radius of spheres on bodies, and 0 of other elements, shape (k,)."""
        return np.zeros(len(element))

    def find_topology(self) -> Any:
        """Return the topology that holds the elements, or None."""
        topology = self._links["topology"].getLinkedBase()
        if topology is None and self._context is not None:
            topology = self._context.find_upward("topology")
        return topology

    def need_topology(self) -> Topology:
        """Return the topology that holds the elements.

        Raises:
            SceneError: there is no topology.
        """
        topology = self.find_topology()
        if topology is None:
            raise self.fault("needs a topology in its node or above, such as a MeshTopology.")
        assert isinstance(topology, Topology)
        return topology

    def _build(self) -> Surface:
        topology, count = self.find_topology(), self.state.count
        if topology is not None and topology.count != count:
            topology = None  # it belongs to the body that carries these points
        empty = np.empty((0, 3), dtype=np.int64)
        triangles = topology.elements("triangles") if topology is not None else empty
        edges = topology.elements("edges") if topology is not None else empty[:, :2]
        flags = np.zeros(len(self.elements), np.int64)
        if self.corners == 3:
            flags = corner_flags(count, self.elements)
        return Surface(
            x=np.empty((0, 3)),
            elements=self.elements,
            reach=self.reach,
            flags=flags,
            **neighbours(count, triangles, edges)._asdict(),
            both_sides=self.touches_both_sides(),
            filtered=self.needs_outward(),
        )

    def carriers(
        self, element: np.ndarray, weight: np.ndarray, point: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the nodes that carry points of elements, and their weights, shapes (p, k).

        Args:
            element: Element of each point, shape (p,).
            weight: Weights of the element's nodes [-], shape (p, 3).
            point: Positions of the points [length], shape (p, 3).
        """
        del point
        return self.elements[element], weight[:, : self.elements.shape[1]]

    def touches_both_sides(self) -> bool:
        """Return True if contacts from inside count."""
        return False

    def needs_outward(self) -> bool:
        """Return True if contacts must leave the surface outwards."""
        return True

    def positions(self) -> np.ndarray:
        """Return the present positions of the nodes, shape (n, 3)."""
        return np.ascontiguousarray(self.state.position.get()[:, :3])

    def surface(self) -> Surface:
        """Return the elements at the present positions."""
        return self._surface._replace(x=self.positions())

    def hull(self) -> list[float]:
        """Return the box around all elements at the present positions: `boxes` are inside it."""
        if self._boxes is None or self.moving.get():
            self._boxes = element_boxes(self.positions(), self.elements, self.reach)
            self._hull = hull_of(self._boxes).tolist()
        return self._hull

    def boxes(self) -> np.ndarray:
        """Return the box around each element and its reach at the last `hull`, shape (m, 6)."""
        assert self._boxes is not None
        return self._boxes

    def are_joined(self, first: np.ndarray, second: np.ndarray, chain: int) -> np.ndarray:
        """Return True for nodes that are equal, or joined by at most `chain` edges."""
        if chain not in self._joined_codes:
            self._joined_codes[chain] = joined_nodes(self.state.count, self._surface.edges, chain)
        codes = self._joined_codes[chain]
        code = first * self.state.count + second
        return codes[np.searchsorted(codes, code).clip(max=len(codes) - 1)] == code

    def touches(self, model: CollisionModel) -> bool:
        """Return True if nodes, groups and `simulated` let the two models touch."""
        if not (self.simulated.get() or model.simulated.get()):
            return False
        if self._context is model._context:
            return self.selfCollision.get() and model.selfCollision.get()
        mine, theirs = self.group.get(), model.group.get()
        return not (len(mine) and len(theirs) and set(mine.tolist()) & set(theirs.tolist()))


class PointCollisionModel(CollisionModel):
    """Every node of the state."""

    aliases = ("Point", "PointModel")
    corners = 1

    bothSide = Bool(False, "Touches from inside, too.")
    computeNormals = Bool(False, "Unused: normals are computed where they are needed.")
    displayContacts = Bool(False, "Unused.")

    @override
    def find_elements(self) -> np.ndarray:
        return np.arange(self.state.count)[:, None]

    @override
    def touches_both_sides(self) -> bool:
        return self.bothSide.get()

    def needs_outward(self) -> bool:
        """Return True if the node has lines as well, as in SOFA."""
        assert self._context is not None
        models = self._context.of("collision model")
        return any(isinstance(model, LineCollisionModel) for model in models)


class LineCollisionModel(CollisionModel):
    """Every edge of the topology."""

    aliases = ("Line", "LineModel")
    corners = 2

    bothSide = Bool(False, "Touches from inside, too.")
    displayFreePosition = Bool(False, "Unused.")

    @override
    def find_elements(self) -> np.ndarray:
        return self.need_topology().elements("edges").reshape(-1, 2)

    @override
    def touches_both_sides(self) -> bool:
        return self.bothSide.get()


class TriangleCollisionModel(CollisionModel):
    """Every triangle of the topology, and every quadrilateral as two."""

    aliases = ("Triangle", "TriangleModel", "TriangleSetModel", "TriangleMeshModel")
    corners = 3

    bothSide = Bool(False, "Touches from inside, too.")
    computeNormals = Bool(True, "Unused: normals are computed where they are needed.")
    useCurvature = Bool(False, "Unused.")

    def find_elements(self) -> np.ndarray:
        """Return the triangles that have an area, with a warning about others."""
        topology = self.need_topology()
        quads = topology.quads.get().reshape(-1, 4)
        triangles = topology.elements("triangles").reshape(-1, 3)
        halves = quads[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3)
        self._quads = np.concatenate(
            [np.full((len(triangles), 4), -1), np.repeat(quads, 2, axis=0)]
        )
        triangles = np.concatenate([triangles, halves])
        flat = degenerate(self.state.position.get(), triangles)
        if len(flat):
            message.warning(
                self,
                f"leaves out {len(flat)} of {len(triangles)} triangles that have no area, first "
                f"triangle {flat[0]} = {triangles[flat[0]].tolist()}.",
            )
            triangles = np.delete(triangles, flat, axis=0)
            self._quads = np.delete(self._quads, flat, axis=0)
        return triangles

    def carriers(
        self, element: np.ndarray, weight: np.ndarray, point: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return nodes and weights; points of quadrilaterals have four nodes, bilinearly."""
        nodes, weights = super().carriers(element, weight, point)
        quads = self._quads[element]
        in_quad = quads[:, 0] >= 0
        if not in_quad.any():
            return nodes, weights
        nodes = np.column_stack([nodes, nodes[:, 0]])
        weights = np.column_stack([weights, np.zeros(len(weights))])
        nodes[in_quad] = quads[in_quad]
        x = self.positions()[quads[in_quad]]
        a, b = x[:, 1] - x[:, 0], x[:, 3] - x[:, 0]
        base = np.stack([a, b, np.cross(a, b)], axis=2)
        u, v, _ = np.linalg.solve(base, (point[in_quad] - x[:, 0])[:, :, None])[:, :, 0].T
        weights[in_quad] = np.column_stack([(1 - u) * (1 - v), u * (1 - v), u * v, (1 - u) * v])
        return nodes, weights

    @override
    def touches_both_sides(self) -> bool:
        return self.bothSide.get()


class SphereCollisionModel(CollisionModel):
    """A sphere around every node of the state; contacts push and turn a body at its surface."""

    follows_otherwise = {"proximity": "step"}
    aliases = ("Sphere", "SphereModel")
    acts_on = ("Vec3", "Rigid3")
    corners = 1

    radius = Real(
        1.0, "Radius of every sphere.", unit="length", aliases=("defaultRadius",), follows="start"
    )
    listRadius = Reals(
        [], "Radius of each sphere.", unit="length", optional_link=True, follows="start"
    )
    showImpostors = Bool(True, "Unused.")

    @property
    def rank(self) -> float:
        """Rank above points."""
        return self.corners + 0.5

    @override
    def find_elements(self) -> np.ndarray:
        return np.arange(self.state.count)[:, None]

    def find_reach(self) -> np.ndarray:
        """Return the radii and thickness; `radius` counts beyond the end of `listRadius`."""
        radii, count = self.listRadius.get(), len(self.elements)
        if len(radii) and len(radii) != count:
            problem = f"has {len(radii)} numbers in 'listRadius' for {count} spheres."
            complain(self, self.fault(problem))
        radius = np.full(count, self.radius.get())
        radius[: len(radii)] = radii[:count]
        self.listRadius.set(radius)
        return radius + self.proximity.get()

    @override
    def body_radius(self, element: np.ndarray) -> np.ndarray:
        on_body = self.state.kind.name == "Rigid3"
        return on_body * (self.reach[element] - self.proximity.get())

    @override
    def needs_outward(self) -> bool:
        return False
