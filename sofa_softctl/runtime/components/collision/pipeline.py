"""The collision pipeline: from surfaces to contact constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np

from sofa_softctl.runtime.behavior.roles import ContactDetection
from sofa_softctl.runtime.components.collision.intersection import Intersection
from sofa_softctl.runtime.components.collision.listener import ContactListener
from sofa_softctl.runtime.components.collision.models import CollisionModel, SphereCollisionModel
from sofa_softctl.runtime.components.collision.overlap import Sunk, sunk_bodies, warn_of_overlap
from sofa_softctl.runtime.components.collision.penality import PenalityContactForceField
from sofa_softctl.runtime.components.collision.response import CollisionResponse, Contact
from sofa_softctl.runtime.components.constraint.contact import UnilateralLagrangianConstraint
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool, Int, Text, Vector
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import keeps_sofa_defects, not_negative
from sofa_softctl.runtime.kernels.contact.broad_phase import candidate_pairs
from sofa_softctl.runtime.kernels.contact.proximity import Proximities, without_duplicates

WIDER = np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0])
SAME = 1e-8
"""Sum of squared distances below which two contacts of a pair of models are one, as in SOFA."""

PARTS = {
    "broad phase": "BruteForceBroadPhase",
    "narrow phase": "BVHNarrowPhase",
    "intersection method": "LocalMinDistance",
    "collision response": "CollisionResponse",
}
"""Parts of a pipeline by their category, and the component to add for each."""

Pair = tuple[CollisionModel, CollisionModel]
_CHAIN = {(3, 1): 0, (1, 1): 2}
"""Edges between nodes of neighbours, by corners of the elements; 1 for others."""


class BruteForceBroadPhase(Component):
    """Which models are near each other: their boxes, each against each."""

    category: ClassVar[str] = "broad phase"

    box = Vector(6, [0.0] * 6, "Models outside are left out; without volume: none is.")


class BVHNarrowPhase(Component):
    """Which of their elements are: boxes, sorted and swept along an axis."""

    category: ClassVar[str] = "narrow phase"


class BruteForceDetection(Component):
    """Old name of two components, which it adds to its node, as SOFA v25.06 does."""

    def added(self) -> None:
        """Add a BruteForceBroadPhase and a BVHNarrowPhase."""
        assert self._context is not None
        for name in ("BruteForceBroadPhase", "BVHNarrowPhase"):
            self._context.addObject(name)


class CollisionPipeline(ContactDetection):
    """Finds contacts in every step, in the positions at its start.

    Needs a broad phase, a narrow phase, an intersection method and a response in its node; without
    one of them there are no contacts, as in SOFA.
    """

    aliases = ("DefaultPipeline",)

    verbose = Bool(False, "Unused.")
    draw = Bool(False, "Unused.")
    depth = Int(6, "Unused.")

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self.contacts: list[UnilateralLagrangianConstraint] = []
        self.penalties: list[PenalityContactForceField] = []
        self._shown: list[Contact] = []
        """The contacts of this step, one entry a pair of models that touches."""
        self._known: dict[tuple[int, int], Contact] = {}
        self._models: list[CollisionModel] = []
        self._listeners: list[ContactListener] = []
        self._first_element: dict[int, int] = {}
        self._checked = False
        self._untested = UntestedPairs()

    def init(self) -> None:
        """Warn of parts that are missing."""
        not_negative(self, "depth", 6)
        assert self._context is not None
        missing = self._missing_parts()
        if missing and any(node.of("collision model") for node in self._context.getRoot().walk()):
            message.warning(
                self,
                f"{self.describe()} finds no contacts, since its node has no "
                f"{' and no '.join(missing)}. Add {', '.join(PARTS[part] for part in missing)}.",
            )

    def _part(self, category: str) -> Any:
        assert self._context is not None
        return next(iter(self._context.of(category)), None)

    def _missing_parts(self) -> list[str]:
        return [category for category in PARTS if self._part(category) is None]

    def prepare(self) -> None:
        """Find the models of the graph."""
        assert self._context is not None
        found = [
            model
            for node in self._context.getRoot().walk()
            for model in node.of("collision model")
            if isinstance(model, CollisionModel)
        ]
        if self._missing_parts():
            found = []
        for model in found:
            model.prepare()
        starts = np.cumsum([0, *(len(model.elements) for model in found)])
        self._models = found
        self._listeners = [
            entry
            for node in self._context.getRoot().walk()
            for entry in node.of("contact listener")
            if isinstance(entry, ContactListener)
        ]
        self._first_element = {
            id(model): int(start) for model, start in zip(found, starts, strict=False)
        }

    def detect(self) -> None:
        """Find the contacts of this step: their constraints go to `contacts` and into the graph."""
        if not self._models:
            return
        method: Intersection = self._part("intersection method")
        if not self._checked:
            self._checked = True
            warn_of_overlap(self._models, self._may_push, method)
        touching: set[tuple[int, int]] = set()
        boxes = {
            id(model): model.boxes()
            for model in self._models
            if model.active.get() and len(model.elements)
        }
        for first, second in self._near_models(method, boxes):
            key = (id(first), id(second))
            near = self._near_elements(method, first, second, boxes)
            if not len(near.distance):
                continue
            contact = self._known.get(key) or self._respond(key, first, second)
            if contact is not None:
                if isinstance(contact, PenalityContactForceField):
                    near = method.nearest_of_each(first, second, near)
                elif contact.pushes:
                    near = _distinct(near)
                else:
                    near = Proximities(*(values[:0] for values in near))
                contact.touch(near, method.contactDistance.get(), self._name(near, key))
                touching.add(key)
        self._show([entry for key, entry in self._known.items() if key in touching])
        for listener in self._listeners:
            listener.hear(self._shown)

    def sunk_bodies(self) -> list[Sunk]:
        """Return the bodies that are now in the surface of another; see `sunk_bodies`."""
        if not self._models:
            return []
        return sunk_bodies(self._models, self._may_push, self._part("intersection method"))

    def _may_push(self, first: CollisionModel, second: CollisionModel) -> bool:
        response: CollisionResponse = self._part("collision response")
        both = first.active.get() and second.active.get() and first.touches(second)
        return both and response.between(first, second).kind != "nullptr"

    def _near_models(self, method: Intersection, boxes: dict[int, np.ndarray]) -> list[Pair]:
        models = [model for model in self._models if id(model) in boxes]
        alarm = method.alarmDistance.get()
        hulls = [_hull(boxes[id(model)], alarm) for model in models]
        limits = self._part("broad phase").box.get()
        if (limits[:3] < limits[3:]).all():
            inside = [_overlap(hull, limits.tolist()) for hull in hulls]
        else:
            inside = [True] * len(models)
        found: list[Pair] = []
        untested: list[Pair] = []
        for j, new in enumerate(models):
            for i in range(j + 1):
                if not (inside[i] and inside[j] and _overlap(hulls[i], hulls[j])):
                    continue
                if new.touches(models[i]):
                    pair = ordered(new, models[i])
                    (found if method.meets(*pair) else untested).append(pair)
        self._untested.look(untested, models, method, self._may_push)
        return found

    def _near_elements(
        self, method: Intersection, first: Any, second: Any, boxes: dict[int, np.ndarray]
    ) -> Proximities:
        widened = boxes[id(first)] + method.alarmDistance.get() * WIDER
        pairs = candidate_pairs(widened, boxes[id(second)])
        if first._context is second._context:
            pairs = _without_neighbours(pairs, first, second)
        return method.near(first, second, pairs)

    def _respond(
        self, key: tuple[int, int], first: CollisionModel, second: CollisionModel
    ) -> Contact | None:
        response: CollisionResponse = self._part("collision response")
        made = response.make(first, second)
        if made is not None:
            self._known[key] = made
        return made

    def _name(self, near: Proximities, key: tuple[int, int]) -> np.ndarray:
        """Keys of the two elements, constant over steps, shape (p, 2)."""
        return near.element + [self._first_element[part] for part in key]

    def _show(self, contacts: list[Contact]) -> None:
        """Put the contacts of this step, and no others, into the graph."""
        for gone in self._shown:
            holder = gone._context
            if holder is not None:
                holder.let_go(gone)
        self._shown = contacts
        self.penalties = [made for made in contacts if isinstance(made, PenalityContactForceField)]
        self.contacts = [
            made for made in contacts if isinstance(made, UnilateralLagrangianConstraint)
        ]
        assert self._context is not None
        counts: dict[int, int] = {}
        for made in contacts:
            first, second = made.models
            fixed = [model for model in made.models if not model.simulated.get()]
            other = second if fixed and fixed[0] is first else first
            holder = other._context if fixed else self._context
            assert holder is not None
            holder.take_in(made)
            for model in {id(first): first, id(second): second}.values():
                counts[id(model)] = counts.get(id(model), 0) + 1
        for model in self._models:
            if id(model) in counts or not keeps_sofa_defects():  # SOFA's never goes back to 0
                model.numberOfContacts.set(counts.get(id(model), 0))

    def reset(self) -> None:
        """Forget the contacts."""
        self._show([])
        self._known.clear()

    def snapshot(self) -> dict[str, Any]:
        """The contacts, by the numbers of their models; the order of pairs is that of the rows."""
        number = {id(model): k for k, model in enumerate(self._models)}
        shown = set(map(id, self._shown))
        pairs = {
            (number[first], number[second]): made.contacts() if id(made) in shown else None
            for (first, second), made in self._known.items()
        }
        return {"models": [model.getPathName() for model in self._models], "pairs": pairs}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the contacts of `snapshot`, where the models are the same."""
        if snapshot["models"] != [model.getPathName() for model in self._models]:
            return
        self._show([])
        before, self._known = self._known, {}
        shown = []
        for (i, j), contacts in snapshot["pairs"].items():
            first, second = self._models[i], self._models[j]
            key = (id(first), id(second))
            made = before.get(key) or self._respond(key, first, second)
            if made is None:
                continue
            self._known[key] = made
            if contacts is not None:
                made.take_over(contacts)
                shown.append(made)
        self._show(shown)


def _distinct(near: Proximities) -> Proximities:
    """The contacts without those that lie where an earlier one does."""
    kept = without_duplicates(near.point, SAME)
    whole = len(kept) == len(near.point)
    return near if whole else Proximities(*(values[kept] for values in near))


def _hull(boxes: np.ndarray, alarm: float) -> list[float]:
    """The box around all boxes, widened at its lower corner."""
    low, high = boxes[:, :3].min(axis=0) - alarm, boxes[:, 3:].max(axis=0)
    return [*low.tolist(), *high.tolist()]


def _overlap(a: list[float], b: list[float]) -> bool:
    return all(a[c] <= b[3 + c] and b[c] <= a[3 + c] for c in range(3))


def _without_neighbours(
    pairs: np.ndarray, first: CollisionModel, second: CollisionModel
) -> np.ndarray:
    """Self-collision: neither an element with itself or with neighbours, nor a pair twice.

    Neighbours have a node in common or joined by a chain of edges, how long a one depends on the
    kinds: as in SOFA, save that there whole triangles touch even themselves.
    """
    if first is second:
        pairs = pairs[pairs[:, 0] > pairs[:, 1]]
    spheres = isinstance(first, SphereCollisionModel) or isinstance(second, SphereCollisionModel)
    chain = 0 if spheres else _CHAIN.get((first.corners, second.corners), 1)
    one, two = first.elements[pairs[:, 0]], second.elements[pairs[:, 1]]
    near = first.joined(one[:, :, None], two[:, None, :], chain).any(axis=(1, 2))
    kept: np.ndarray = pairs[~near]
    return kept


class ParallelBruteForceBroadPhase(BruteForceBroadPhase):
    """BruteForceBroadPhase; here it uses one processor."""

    aliases = ()

    nbThreads = Int(0, "Unused.")
    taskSchedulerType = Text("_default", "Unused.")


class ParallelBVHNarrowPhase(BVHNarrowPhase):
    """BVHNarrowPhase; here it uses one processor."""

    aliases = ()

    nbThreads = Int(0, "Unused.")
    taskSchedulerType = Text("_default", "Unused.")


class UntestedPairs:
    """Warns once of each pair of nodes whose models go through each other.

    LocalMinDistance and MinProximityIntersection test no triangles against triangles or lines: two
    skins that have nothing else never touch.
    """

    def __init__(self) -> None:
        self._known: set[frozenset[int]] = set()

    def look(
        self,
        near: Iterable[Pair],
        models: list[CollisionModel],
        method: Intersection,
        may_push: Callable[[CollisionModel, CollisionModel], bool],
    ) -> None:
        """Look at models that are near each other.

        Args:
            near: Pairs of models that are near each other and that the method does not test.
            models: All models of the scene.
            method: The method.
            may_push: Whether contacts between two of them would push.
        """
        for first, second in near:
            nodes = frozenset((id(first._context), id(second._context)))
            if len(nodes) < 2 or nodes in self._known:
                continue
            self._known.add(nodes)
            one, two = ([m for m in models if m._context is e._context] for e in (first, second))
            pairs = [(a, b) for a in one for b in two if may_push(a, b)]
            if pairs and not any(method.meets(*ordered(a, b)) for a, b in pairs):
                message.warning(
                    first,
                    f"{first.describe()} and {second.describe()} go through each other: "
                    f"{method.getClassName()} {_why(first, second)}",
                )


def _why(first: CollisionModel, second: CollisionModel) -> str:
    if "Rigid3" in (first.state.kind.name, second.state.kind.name):
        return (
            "tests spheres on bodies against spheres alone, as in SOFA. Use "
            "MinProximityIntersection, or put the spheres on points that a RigidMapping carries."
        )
    return (
        "tests points and spheres against all elements, and lines against lines, but no triangles "
        "against lines or triangles. Add a PointCollisionModel and a LineCollisionModel beside the "
        "triangles of what moves."
    )


def ordered(new: CollisionModel, old: CollisionModel) -> Pair:
    """The model with larger elements first, spheres before points, else the newer one."""
    return (old, new) if old.rank > new.rank else (new, old)
