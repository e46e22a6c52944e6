"""Intersection methods: pairs and distances at which contacts are created."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.collision.models import (
    CollisionModel,
    SphereCollisionModel,
)
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool, Real
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects
from sofa_softctl.runtime.kernels.contact.proximity import (
    LOCAL_MIN_DISTANCE,
    MIN_PROXIMITY,
    NEW_PROXIMITY,
    Proximities,
    near_points,
)


class Intersection(Component):
    """Base of the methods."""

    category: ClassVar[str] = "intersection method"
    method: ClassVar[int]

    alarmDistance = Real(1.0, "Distance from which on a contact is foreseen.", unit="length")
    contactDistance = Real(0.5, "Distance that contacts keep.", unit="length")
    cone = factor = 0.0
    lines = False

    def init(self) -> None:
        """Check the distances."""
        alarm, contact = self.alarmDistance.get(), self.contactDistance.get()
        if not 0.0 <= contact <= alarm:
            problem = self.fault(
                f"has contactDistance={contact:g} and alarmDistance={alarm:g}: give "
                "0 <= contactDistance <= alarmDistance, or a contact is seen only after it pushes."
            )
            complain(self, problem)

    def meets(self, first: CollisionModel, second: CollisionModel) -> bool:
        """Whether elements of these kinds are tested (the one with more corners is first)."""
        raise NotImplementedError

    def near(self, first: CollisionModel, second: CollisionModel, pairs: np.ndarray) -> Proximities:
        """Near points of candidate pairs of elements."""
        return near_points(
            first.surface(),
            second.surface(),
            pairs,
            self.method,
            self.alarmDistance.get(),
            self.cone,
            self.factor,
            self.lines,
        )

    def nearest_of_each(
        self, first: CollisionModel, second: CollisionModel, near: Proximities
    ) -> Proximities:
        """Of the contacts that SOFA calls by one name the nearest one."""
        name = self.named(first, second, near)
        reach = first.reach[near.element[:, 0]] + second.reach[near.element[:, 1]]
        order = np.lexsort((np.arange(len(name)), near.distance - reach, name))
        _, start = np.unique(name[order], return_index=True)
        kept = np.sort(order[start])
        return Proximities(*(values[kept] for values in near))

    def named(self, first: CollisionModel, second: CollisionModel, near: Proximities) -> np.ndarray:
        """What SOFA calls each contact, shape (p,): the point or sphere that touches.

        Of two lines, points or spheres that of the model that has more of them.
        """
        one, two = near.element.T
        alike = first.corners == second.corners
        return one if alike and len(first.elements) > len(second.elements) else two


class LocalMinDistance(Intersection):
    """Local minima of the distance: points against everything, lines against lines.

    Only pairs whose shortest way leaves both surfaces outwards, within a cone around the normals
    of the neighbours. Flat on flat gives few contacts, and none of what already interpenetrates.
    Spheres on bodies touch spheres alone, as in SOFA.
    """

    method = LOCAL_MIN_DISTANCE

    filterIntersection = Bool(True, "Keep only what leaves the surfaces outwards.")
    angleCone = Real(0.0, "Added to the cones (sine of an angle).", follows="start")
    coneFactor = Real(0.5, "Share of the neighbours' angle in the cones.")
    useLMDFilters = Bool(False, "Use filter components instead of cones: none here.")

    @override
    def init(self) -> None:
        super().init()
        self.cone, self.factor = self.angleCone.get(), self.coneFactor.get()

    @override
    def meets(self, first: CollisionModel, second: CollisionModel) -> bool:
        if _is_sphere_on_body(first) or _is_sphere_on_body(second):
            return isinstance(first, SphereCollisionModel) and isinstance(
                second, SphereCollisionModel
            )
        return second.corners == 1 or first.corners == second.corners == 2

    @override
    def near(self, first: CollisionModel, second: CollisionModel, pairs: np.ndarray) -> Proximities:
        if self.filterIntersection.get() and not self.useLMDFilters.get():
            return super().near(first, second, pairs)
        return unfiltered(first, second, pairs, self.alarmDistance.get())


class MinProximityIntersection(Intersection):
    """Closest points, without cones: stable for what lies flat, many contacts at corners.

    Departure: a sphere touches a line where the line is nearest; in SOFA v25.06 it does as far from
    the line's other end, so that a ball on an edge is thrown aside (see `keeps_sofa_defects`).
    """

    method = MIN_PROXIMITY

    useSphereTriangle = Bool(True, "Spheres touch triangles.")
    usePointPoint = Bool(True, "Points touch points.")
    useSurfaceNormals = Bool(False, "Take the triangle's normal instead of the shortest way.")
    useLinePoint = Bool(True, "Lines touch points.")
    useLineLine = Bool(True, "Lines touch lines.")

    @override
    def meets(self, first: CollisionModel, second: CollisionModel) -> bool:
        if isinstance(second, SphereCollisionModel):
            return first.corners == 1 or first.corners == 2 or self.useSphereTriangle.get()
        allowed = {
            (1, 1): self.usePointPoint,
            (2, 1): self.useLinePoint,
            (2, 2): self.useLineLine,
        }.get((first.corners, second.corners))
        return second.corners == 1 if allowed is None else allowed.get()

    @override
    def near(self, first: CollisionModel, second: CollisionModel, pairs: np.ndarray) -> Proximities:
        if isinstance(second, SphereCollisionModel):  # against lines only between their ends
            found = unfiltered(first, second, pairs, self.alarmDistance.get())
            if keeps_sofa_defects():
                found = _mirrored(found, first, second, self.alarmDistance.get())
            return found
        found = super().near(first, second, pairs)
        if self.useSurfaceNormals.get() and first.corners == 3:
            x, triangles = first.surface().x, first.elements[found.element[:, 0]]
            a, b, c = (x[triangles[:, k]] for k in range(3))
            normal = np.cross(b - a, c - a)
            found.normal[:] = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        return found

    def named(self, first: CollisionModel, second: CollisionModel, near: Proximities) -> np.ndarray:
        """See Intersection; of a sphere and a point the sphere."""
        spheres = [isinstance(model, SphereCollisionModel) for model in (first, second)]
        if spheres == [True, False]:
            return near.element[:, 0]
        return super().named(first, second, near)


class NewProximityIntersection(Intersection):
    """Whole triangles against triangles; each shared corner or edge touches once.

    Spheres on bodies keep their radius from each other, which SOFA's forgets.
    """

    method = NEW_PROXIMITY

    useLineLine = Bool(False, "Edges of triangles touch edges.", follows="start")

    @override
    def init(self) -> None:
        super().init()
        self.lines = self.useLineLine.get()

    @override
    def meets(self, first: CollisionModel, second: CollisionModel) -> bool:
        del first, second
        return True

    def named(self, first: CollisionModel, second: CollisionModel, near: Proximities) -> np.ndarray:
        """See Intersection; of two triangles the corner that touches, or the pair of edges."""
        if second.corners < 3:
            return super().named(first, second, near)
        one, two = near.element.T
        (w1, w2), (c1, c2) = near.weight.transpose(1, 0, 2), near.weight.argmax(axis=2).T
        of_first, of_second = w1.max(axis=1) == 1.0, w2.max(axis=1) == 1.0
        both = np.flatnonzero(of_first & of_second)  # corner on corner: first that of the first
        pairs = np.column_stack([one, two, c1, c2])[both]
        _, earliest = np.unique(pairs, axis=0, return_index=True)
        of_first[np.delete(both, earliest)] = False
        edges = 3 * w1.argmin(axis=1) + w2.argmin(axis=1)  # each has the weight 0 across
        below = -1 - 12 * two
        found = np.where(of_second, below - c2, below - 3 - edges)
        return np.where(of_first, 3 * one + c1, found)


class DiscreteIntersection(Intersection):
    """Spheres against spheres, once they overlap; an error when other elements could touch."""

    alarmDistance = Real(0.0, "Unused: 0, as in SOFA.", unit="length")
    contactDistance = Real(0.0, "Unused: 0, as in SOFA.", unit="length")

    def init(self) -> None:
        """See Intersection; SOFA's knows no distances."""
        self.alarmDistance.set(0.0)
        self.contactDistance.set(0.0)

    @override
    def meets(self, first: CollisionModel, second: CollisionModel) -> bool:
        if isinstance(first, SphereCollisionModel) and isinstance(second, SphereCollisionModel):
            return True
        raise self.fault(
            f"finds contacts of spheres alone, but {first.describe()} and {second.describe()} come "
            "near: use LocalMinDistance or MinProximityIntersection."
        )

    @override
    def near(self, first: CollisionModel, second: CollisionModel, pairs: np.ndarray) -> Proximities:
        # 'proximity' is part of the reach, and widens what contacts keep, but not what is found
        thickness = first.proximity.get() + second.proximity.get()
        return unfiltered(first, second, pairs, -thickness)


def _is_sphere_on_body(model: CollisionModel) -> bool:
    return isinstance(model, SphereCollisionModel) and model.state.kind.name == "Rigid3"


def unfiltered(
    first: CollisionModel, second: CollisionModel, pairs: np.ndarray, alarm: float
) -> Proximities:
    """Closest points inside both elements, whatever the direction between them."""
    one, two = (model.surface()._replace(filtered=False) for model in (first, second))
    return near_points(one, two, pairs, LOCAL_MIN_DISTANCE, alarm, 0.0, 0.0, False)


def _mirrored(
    near: Proximities, first: CollisionModel, second: CollisionModel, alarm: float
) -> Proximities:
    """The contacts of lines with spheres, each as far from the line's other end."""
    if first.corners != 2:
        return near
    weight = near.weight.copy()
    weight[:, 0, :2] = near.weight[:, 0, 1::-1]
    point = near.point.copy()
    x = first.places()[first.elements[near.element[:, 0]]]  # (p, 2, 3)
    point[:, 0] = np.einsum("pk,pkc->pc", weight[:, 0, :2], x)
    way = point[:, 1] - point[:, 0]
    distance = np.linalg.norm(way, axis=1)
    reach = first.reach[near.element[:, 0]] + second.reach[near.element[:, 1]]
    normal = way / np.where(distance > 0.0, distance, 1.0)[:, None]
    kept = distance < alarm + reach
    found = Proximities(near.element, weight, point, normal, distance)
    return Proximities(*(values[kept] for values in found))
