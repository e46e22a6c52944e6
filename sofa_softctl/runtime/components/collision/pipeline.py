"""The collision pipeline: from surfaces to contact constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
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
from sofa_softctl.runtime.core.data.data import DataWatch
from sofa_softctl.runtime.core.data.types import Bool, Int, Text, Vector
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import keeps_sofa_defects, not_negative
from sofa_softctl.runtime.kernels.contact.broad_phase import candidate_pairs
from sofa_softctl.runtime.kernels.contact.proximity import Proximities, without_duplicates

DUPLICATE_TOLERANCE = 1e-8
"""Largest sum of squared distances of duplicate contacts [length^2], as in SOFA."""

PARTS = {
    "broad phase": "BruteForceBroadPhase",
    "narrow phase": "BVHNarrowPhase",
    "intersection method": "LocalMinDistance",
    "collision response": "CollisionResponse",
}
"""Parts of a pipeline by their category, and the component to add for each."""

Pair = tuple[CollisionModel, CollisionModel]
_CHAIN_LENGTHS = {(3, 1): 0, (1, 1): 2}
"""Edges between nodes of neighbours by the corners of the elements, 1 by default."""


class BruteForceBroadPhase(Component):
    """Finds models near each other by comparing all pairs of their boxes."""

    category: ClassVar[str] = "broad phase"

    box = Vector(6, [0.0] * 6, "Models outside are ignored, unless it has no volume.")


class BVHNarrowPhase(Component):
    """Finds elements near each other by sorting and sweeping boxes along an axis."""

    category: ClassVar[str] = "narrow phase"


class BruteForceDetection(Component):
    """Old name of two components, which it adds to its node, as SOFA v25.06 does."""

    def on_added(self) -> None:
        """Add a BruteForceBroadPhase and a BVHNarrowPhase."""
        assert self._context is not None
        for name in ("BruteForceBroadPhase", "BVHNarrowPhase"):
            self._context.addObject(name)


class CollisionPipeline(ContactDetection):
    """Finds the contacts of each step at the positions of its start.

    It needs a broad phase, a narrow phase, an intersection method and a response in its node;
    without one of them there are no contacts, as in SOFA.
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
        """The contacts of this step, one per pair of models that touch."""
        self._contacts_by_pair: dict[tuple[int, int], Contact] = {}
        self._models: list[CollisionModel] = []
        self._listeners: list[ContactListener] = []
        self._first_element: dict[int, int] = {}
        self._is_checked = False
        self._untested = UntestedPairs()
        self._touching: list[Pair] = []
        self._touching_watch: DataWatch | None = None

    def init(self) -> None:
        """Warn of missing parts."""
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
        models = [
            model
            for node in self._context.getRoot().walk()
            for model in node.of("collision model")
            if isinstance(model, CollisionModel)
        ]
        if self._missing_parts():
            models = []
        for model in models:
            model.prepare()
        starts = np.cumsum([0, *(len(model.elements) for model in models)])
        self._models, self._touching_watch = models, None
        self._listeners = [
            listener
            for node in self._context.getRoot().walk()
            for listener in node.of("contact listener")
            if isinstance(listener, ContactListener)
        ]
        self._first_element = {
            id(model): int(start) for model, start in zip(models, starts, strict=False)
        }

    def detect(self) -> None:
        """Find the contacts of this step, and add their constraints to `contacts` and the graph."""
        if not self._models:
            return
        method: Intersection = self._part("intersection method")
        if not self._is_checked:
            self._is_checked = True
            warn_of_overlap(self._models, self._may_push, method)
        touching: set[tuple[int, int]] = set()
        for first, second in self._near_models(method):
            key = (id(first), id(second))
            pairs = _near_elements(first, second, method.alarmDistance.get())
            hits = method.hits(first, second, pairs) if len(pairs) else None
            if hits is None or not len(hits.distance):
                continue
            contact = self._contacts_by_pair.get(key) or self._respond(key, first, second)
            if contact is not None:
                if isinstance(contact, PenalityContactForceField):
                    hits = method.nearest_of_each(first, second, hits)
                elif contact.pushes:
                    hits = _remove_duplicates(hits)
                else:
                    hits = Proximities(*(values[:0] for values in hits))
                contact.set_contacts(hits, method.contactDistance.get(), self._identify(hits, key))
                touching.add(key)
        self._show([active for key, active in self._contacts_by_pair.items() if key in touching])
        for listener in self._listeners:
            listener.store_contacts(self._shown)

    def sunk_bodies(self) -> list[Sunk]:
        """Return the bodies with points on the wrong side of another's present surface."""
        if not self._models:
            return []
        return sunk_bodies(self._models, self._may_push, self._part("intersection method"))

    def _may_push(self, first: CollisionModel, second: CollisionModel) -> bool:
        response: CollisionResponse = self._part("collision response")
        can_touch = first.active.get() and second.active.get() and first.touches(second)
        return can_touch and response.response_of(first, second).kind != "nullptr"

    def _near_models(self, method: Intersection) -> list[Pair]:
        """Return the pairs of models to test, whose boxes are near each other."""
        alarm = method.alarmDistance.get()
        hulls = {id(m): m.hull() for m in self._models if m.active.get() and len(m.elements)}
        limits = self._part("broad phase").box.get()
        if (limits[:3] < limits[3:]).all():
            region = limits.tolist()
            hulls = {key: hull for key, hull in hulls.items() if _are_near(hull, region, alarm)}
        pairs: list[Pair] = []
        untested: list[Pair] = []
        for pair in self._pairs_that_may_touch():
            first, second = hulls.get(id(pair[0])), hulls.get(id(pair[1]))
            if first is not None and second is not None and _are_near(first, second, alarm):
                (pairs if method.supports(*pair) else untested).append(pair)
        if untested:
            models = [model for model in self._models if id(model) in hulls]
            self._untested.warn(untested, models, method, self._may_push)
        return pairs

    def _pairs_that_may_touch(self) -> list[Pair]:
        """Return the pairs of models whose nodes and groups let them touch; read once."""
        if self._touching_watch is None:
            values = [data for model in self._models for data in model._data.values()]
            self._touching_watch = DataWatch(d for d in values if not d.type.read_only)
        if self._touching_watch.has_changed():
            self._touching = [
                order_pair(new, old)
                for j, new in enumerate(self._models)
                for old in self._models[: j + 1]
                if new.touches(old)
            ]
        return self._touching

    def _respond(
        self, key: tuple[int, int], first: CollisionModel, second: CollisionModel
    ) -> Contact | None:
        response: CollisionResponse = self._part("collision response")
        contact = response.create_contact(first, second)
        if contact is not None:
            self._contacts_by_pair[key] = contact
        return contact

    def _identify(self, hits: Proximities, key: tuple[int, int]) -> np.ndarray:
        """Return keys of the two elements, constant over steps, shape (p, 2)."""
        return hits.element + [self._first_element[part] for part in key]

    def _show(self, contacts: list[Contact]) -> None:
        """Replace the contacts in the graph by the contacts of this step."""
        for contact in self._shown:
            holder = contact._context
            if holder is not None:
                holder.let_go(contact)
        self._shown = contacts
        self.penalties = [c for c in contacts if isinstance(c, PenalityContactForceField)]
        self.contacts = [c for c in contacts if isinstance(c, UnilateralLagrangianConstraint)]
        assert self._context is not None
        counts: dict[int, int] = {}
        for contact in contacts:
            first, second = contact.models
            fixed = [model for model in contact.models if not model.simulated.get()]
            driven = second if fixed and fixed[0] is first else first
            holder = driven._context if fixed else self._context
            assert holder is not None
            holder.take_in(contact)
            for model in {id(first): first, id(second): second}.values():
                counts[id(model)] = counts.get(id(model), 0) + 1
        for model in self._models:
            if id(model) in counts or not keeps_sofa_defects():  # SOFA never resets it to 0
                model.numberOfContacts.set(counts.get(id(model), 0))

    def reset(self) -> None:
        """Forget the contacts."""
        self._show([])
        self._contacts_by_pair.clear()

    def snapshot(self) -> dict[str, Any]:
        """Return the contacts by the numbers of their models, in the order of the rows."""
        number = {id(model): k for k, model in enumerate(self._models)}
        shown = set(map(id, self._shown))
        pairs = {
            (number[first], number[second]): contact.contacts() if id(contact) in shown else None
            for (first, second), contact in self._contacts_by_pair.items()
        }
        return {"models": [model.getPathName() for model in self._models], "pairs": pairs}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the contacts of `snapshot` if the models are the same."""
        if snapshot["models"] != [model.getPathName() for model in self._models]:
            return
        self._show([])
        before, self._contacts_by_pair = self._contacts_by_pair, {}
        shown = []
        for (i, j), contacts in snapshot["pairs"].items():
            first, second = self._models[i], self._models[j]
            key = (id(first), id(second))
            contact = before.get(key) or self._respond(key, first, second)
            if contact is None:
                continue
            self._contacts_by_pair[key] = contact
            if contacts is not None:
                contact.take_over(contacts)
                shown.append(contact)
        self._show(shown)


def _near_elements(first: CollisionModel, second: CollisionModel, alarm: float) -> np.ndarray:
    """Return the pairs of elements whose boxes are near each other, shape (p, 2)."""
    pairs = candidate_pairs(first.boxes(), second.boxes(), alarm)
    is_one_body = first._context is second._context
    return _without_neighbours(pairs, first, second) if is_one_body else pairs


def _remove_duplicates(hits: Proximities) -> Proximities:
    """Return the hits without repetitions of earlier ones."""
    indices = without_duplicates(hits.point, DUPLICATE_TOLERANCE)
    is_distinct = len(indices) == len(hits.point)
    return hits if is_distinct else Proximities(*(values[indices] for values in hits))


def _are_near(a: list[float], b: list[float], alarm: float) -> bool:
    """Return True if two boxes overlap, with their lower corners moved down by the distance."""
    return (
        a[0] - alarm <= b[3]
        and b[0] - alarm <= a[3]
        and a[1] - alarm <= b[4]
        and b[1] - alarm <= a[4]
        and a[2] - alarm <= b[5]
        and b[2] - alarm <= a[5]
    )


def _without_neighbours(
    pairs: np.ndarray, first: CollisionModel, second: CollisionModel
) -> np.ndarray:
    """Return the pairs of a self-collision once each, without neighbours.

    Neighbours have a common node, or nodes joined by a chain of edges whose length depends on the
    kinds, as in SOFA; there, however, whole triangles touch even themselves.
    """
    if first is second:
        pairs = pairs[pairs[:, 0] > pairs[:, 1]]
    spheres = isinstance(first, SphereCollisionModel) or isinstance(second, SphereCollisionModel)
    chain = 0 if spheres else _CHAIN_LENGTHS.get((first.corners, second.corners), 1)
    a, b = first.elements[pairs[:, 0]], second.elements[pairs[:, 1]]
    joined = first.are_joined(a[:, :, None], b[:, None, :], chain).any(axis=(1, 2))
    return np.asarray(pairs[~joined])


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

    LocalMinDistance and MinProximityIntersection do not test triangles against triangles or lines:
    two skins of triangles only never touch.
    """

    def __init__(self) -> None:
        self._warned: set[frozenset[int]] = set()

    def warn(
        self,
        untested: Iterable[Pair],
        models: list[CollisionModel],
        method: Intersection,
        may_push: Callable[[CollisionModel, CollisionModel], bool],
    ) -> None:
        """Warn of models near each other.

        Args:
            untested: Pairs of models near each other that the method does not test.
            models: All models of the scene.
            method: Intersection method of the scene.
            may_push: Returns True if contacts between two models would push.
        """
        for first, second in untested:
            nodes = frozenset((id(first._context), id(second._context)))
            if len(nodes) < 2 or nodes in self._warned:
                continue
            self._warned.add(nodes)
            sides = [[m for m in models if m._context is e._context] for e in (first, second)]
            pairs = [(a, b) for a, b in product(*sides) if may_push(a, b)]
            if pairs and not any(method.supports(*order_pair(a, b)) for a, b in pairs):
                message.warning(
                    first,
                    f"{first.describe()} and {second.describe()} go through each other: "
                    f"{method.getClassName()} {_explain_untested(first, second)}",
                )


def _explain_untested(first: CollisionModel, second: CollisionModel) -> str:
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


def order_pair(new: CollisionModel, old: CollisionModel) -> Pair:
    """Return the pair by rank: larger elements first, spheres before points, else the newer one."""
    return (old, new) if old.rank > new.rank else (new, old)
