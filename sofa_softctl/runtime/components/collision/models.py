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
from sofa_softctl.runtime.kernels.contact.broad_phase import element_boxes
from sofa_softctl.runtime.kernels.contact.proximity import Surface

if TYPE_CHECKING:
    from sofa_softctl.runtime.behavior.state import MechanicalState


class CollisionModel(SingleStateComponent):
    """Elements of a state that can touch those of others."""

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
        10.0,
        "Factor of the stiffness of penalty contacts, that of the other model is the second; 0: no "
        "contacts.",
    )
    contactFriction = Real(0.0, "Unused: for penalty contacts.")
    contactRestitution = Real(0.0, "Unused.")
    contactResponse = Text("", "Kind of contact, instead of that of the CollisionResponse.")
    color = Color([1.0, 0.0, 0.0, 1.0], "Color.")
    group = Integers([], "Models of a common group do not touch.")
    numberOfContacts = UInt(0, "Other models that it touches in this step.", read_only=True)
    topology = LinkType("Topology that holds the elements; the node's own by default.")

    @property
    def rank(self) -> float:
        """Of two models the one of higher rank comes first in a pair."""
        return self.corners

    @cached_property
    def state(self) -> MechanicalState:
        """See SingleStateComponent.

        Raises:
            SceneError: it is of bodies or joints, and the model of points alone.
        """
        found = self._find_state()
        if found is not None and found.kind.name not in self.acts_on:
            raise self.fault(
                f"needs points, but {found.describe()} has the template "
                f"{found.getTemplateName()}: put the model into a child node with a Vec3 "
                "MechanicalObject and a RigidMapping."
            )
        return super().state

    def prepare(self) -> None:
        """Find the elements and what lies around them."""
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
        self._joined: dict[int, np.ndarray] = {}
        self._surface = self._build()

    def find_elements(self) -> np.ndarray:
        """Nodes of each element, shape (m, corners)."""
        raise NotImplementedError

    def find_reach(self) -> np.ndarray:
        """Thickness of each element beside the distances of the method, shape (m,)."""
        return np.full(len(self.elements), self.proximity.get())

    def body_radius(self, element: np.ndarray) -> np.ndarray:
        """Radius of elements that are spheres on bodies, 0 of others, shape (k,)."""
        return np.zeros(len(element))

    def find_topology(self) -> Any:
        """The topology that holds the elements, None if there is none."""
        found = self._links["topology"].getLinkedBase()
        if found is None and self._context is not None:
            found = self._context.find_upward("topology")
        return found

    def need_topology(self) -> Topology:
        """The topology that holds the elements.

        Raises:
            SceneError: there is none.
        """
        found = self.find_topology()
        if found is None:
            raise self.fault("needs a topology in its node or above, such as a MeshTopology.")
        assert isinstance(found, Topology)
        return found

    def _build(self) -> Surface:
        topology, count = self.find_topology(), self.state.count
        if topology is not None and topology.count != count:
            topology = None  # of the body that carries these points
        none = np.empty((0, 3), dtype=np.int64)
        triangles = topology.elements("triangles") if topology is not None else none
        edges = topology.elements("edges") if topology is not None else none[:, :2]
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
            filtered=self.filtered(),
        )

    def carriers(
        self, element: np.ndarray, weight: np.ndarray, point: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Nodes that carry points of elements, and their weights, shapes (p, k).

        Args:
            element: Of each point, shape (p,).
            weight: In the element's nodes [-], shape (p, 3).
            point: Where the points are [length], shape (p, 3).
        """
        del point
        return self.elements[element], weight[:, : self.elements.shape[1]]

    def touches_both_sides(self) -> bool:
        """Whether the surface can be touched from inside."""
        return False

    def filtered(self) -> bool:
        """Whether contacts must leave the surface outwards."""
        return True

    def places(self) -> np.ndarray:
        """Where the nodes are at present, shape (n, 3)."""
        return np.ascontiguousarray(self.state.position.get()[:, :3])

    def surface(self) -> Surface:
        """The elements at the present position."""
        return self._surface._replace(x=self.places())

    def boxes(self) -> np.ndarray:
        """Box around each element, its reach included, shape (m, 6)."""
        if self._boxes is None or self.moving.get():
            self._boxes = element_boxes(self.places(), self.elements, self.reach)
        return self._boxes

    def joined(self, one: np.ndarray, two: np.ndarray, chain: int) -> np.ndarray:
        """Whether nodes are the same, or joined by at most `chain` edges of the surface."""
        if chain not in self._joined:
            self._joined[chain] = joined_nodes(self.state.count, self._surface.edges, chain)
        known = self._joined[chain]
        code = one * self.state.count + two
        return known[np.searchsorted(known, code).clip(max=len(known) - 1)] == code

    def touches(self, other: CollisionModel) -> bool:
        """Whether the two may touch at all: nodes, groups, and who is simulated."""
        if not (self.simulated.get() or other.simulated.get()):
            return False
        if self._context is other._context:
            return self.selfCollision.get() and other.selfCollision.get()
        mine, others = self.group.get(), other.group.get()
        return not (len(mine) and len(others) and set(mine.tolist()) & set(others.tolist()))


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

    def filtered(self) -> bool:
        """Points without lines beside them are not filtered, as in SOFA."""
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
        """Triangles with an area; others cannot be touched; warns of them."""
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
        """See CollisionModel; of half a quadrilateral all four nodes, bilinearly."""
        nodes, weights = super().carriers(element, weight, point)
        quads = self._quads[element]
        halves = quads[:, 0] >= 0
        if not halves.any():
            return nodes, weights
        nodes = np.column_stack([nodes, nodes[:, 0]])
        weights = np.column_stack([weights, np.zeros(len(weights))])
        nodes[halves] = quads[halves]
        x = self.places()[quads[halves]]
        a, b = x[:, 1] - x[:, 0], x[:, 3] - x[:, 0]
        base = np.stack([a, b, np.cross(a, b)], axis=2)
        u, v, _ = np.linalg.solve(base, (point[halves] - x[:, 0])[:, :, None])[:, :, 0].T
        weights[halves] = np.column_stack([(1 - u) * (1 - v), u * (1 - v), u * v, (1 - u) * v])
        return nodes, weights

    @override
    def touches_both_sides(self) -> bool:
        return self.bothSide.get()


class SphereCollisionModel(CollisionModel):
    """A sphere around every node of the state; contacts push a body at its surface, and turn it."""

    follows_otherwise = {"proximity": "step"}
    aliases = ("Sphere", "SphereModel")
    acts_on = ("Vec3", "Rigid3")
    corners = 1

    radius = Real(
        1.0, "Radius of every sphere.", unit="length", aliases=("defaultRadius",), follows="start"
    )
    listRadius = Reals(
        [], "Radius of each sphere, instead.", unit="length", optional_link=True, follows="start"
    )
    showImpostors = Bool(True, "Unused.")

    @property
    def rank(self) -> float:
        """Before points."""
        return self.corners + 0.5

    @override
    def find_elements(self) -> np.ndarray:
        return np.arange(self.state.count)[:, None]

    def find_reach(self) -> np.ndarray:
        """See CollisionModel; spheres beyond the end of listRadius have the common radius."""
        given, count = self.listRadius.get(), len(self.elements)
        if len(given) and len(given) != count:
            problem = f"has {len(given)} numbers in 'listRadius' for {count} spheres."
            complain(self, self.fault(problem))
        radius = np.full(count, self.radius.get())
        radius[: len(given)] = given[:count]
        self.listRadius.set(radius)
        return radius + self.proximity.get()

    @override
    def body_radius(self, element: np.ndarray) -> np.ndarray:
        on_body = self.state.kind.name == "Rigid3"
        return on_body * (self.reach[element] - self.proximity.get())

    @override
    def filtered(self) -> bool:
        return False
