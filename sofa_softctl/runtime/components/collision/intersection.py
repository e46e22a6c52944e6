"""Intersection methods: pairs and distances at which contacts are created."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.collision.models import CollisionModel, SphereCollisionModel
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

    alarmDistance = Real(1.0, "Distance below which contacts are created.", unit="length")
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

    def supports(self, first: CollisionModel, second: CollisionModel) -> bool:
        """Return True if it tests elements of these models, the one with more corners first."""
        raise NotImplementedError

    def hits(self, first: CollisionModel, second: CollisionModel, pairs: np.ndarray) -> Proximities:
        """Return the near points of candidate pairs of elements."""
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
        self, first: CollisionModel, second: CollisionModel, hits: Proximities
    ) -> Proximities:
        """Return the nearest of the contacts to which SOFA gives the same name."""
        name = self.names(first, second, hits)
        reach = first.reach[hits.element[:, 0]] + second.reach[hits.element[:, 1]]
        order = np.lexsort((np.arange(len(name)), hits.distance - reach, name))
        _, start = np.unique(name[order], return_index=True)
        indices = np.sort(order[start])
        return Proximities(*(values[indices] for values in hits))

    def names(self, first: CollisionModel, second: CollisionModel, hits: Proximities) -> np.ndarray:
        """Return SOFA's name of each contact, shape (p,): the point or sphere that touches.

        For two lines, points or spheres, it is the element of the model with more of them.
        """
        a, b = hits.element.T
        alike = first.corners == second.corners
        return a if alike and len(first.elements) > len(second.elements) else b


class LocalMinDistance(Intersection):
    """Local minima of the distance: points against everything, lines against lines.

    Only pairs whose shortest connection leaves both surfaces outwards, within a cone around the
    normals of the neighbours. Flat on flat gives few contacts, and overlapping bodies give none.
    Spheres on bodies touch only spheres, as in SOFA.
    """

    method = LOCAL_MIN_DISTANCE

    filterIntersection = Bool(True, "Only contacts that leave the surfaces outwards.")
    angleCone = Real(0.0, "Added to the cones (sine of an angle).", follows="start")
    coneFactor = Real(0.5, "Fraction of the neighbours' angle in the cones.")
    useLMDFilters = Bool(False, "Use filter components instead of cones: not supported.")

    @override
    def init(self) -> None:
        super().init()
        self.cone, self.factor = self.angleCone.get(), self.coneFactor.get()

    @override
    def supports(self, first: CollisionModel, second: CollisionModel) -> bool:
        if _is_sphere_on_body(first) or _is_sphere_on_body(second):
            return isinstance(first, SphereCollisionModel) and isinstance(
                second, SphereCollisionModel
            )
        return second.corners == 1 or first.corners == second.corners == 2

    @override
    def hits(self, first: CollisionModel, second: CollisionModel, pairs: np.ndarray) -> Proximities:
        if self.filterIntersection.get() and not self.useLMDFilters.get():
            return super().hits(first, second, pairs)
        return closest_points(first, second, pairs, self.alarmDistance.get())


class MinProximityIntersection(Intersection):
    """Closest points, without cones: stable for flat contacts, many contacts at corners.

    Departure: a sphere touches a line at the nearest point. SOFA v25.06 mirrors that point on the
    line, so that a ball on an edge is thrown aside (see `keeps_sofa_defects`).
    """

    method = MIN_PROXIMITY

    useSphereTriangle = Bool(True, "Spheres touch triangles.")
    usePointPoint = Bool(True, "Points touch points.")
    useSurfaceNormals = Bool(False, "Use the triangle's normal instead of the shortest connection.")
    useLinePoint = Bool(True, "Lines touch points.")
    useLineLine = Bool(True, "Lines touch lines.")

    @override
    def supports(self, first: CollisionModel, second: CollisionModel) -> bool:
        if isinstance(second, SphereCollisionModel):
            return first.corners == 1 or first.corners == 2 or self.useSphereTriangle.get()
        allowed = {
            (1, 1): self.usePointPoint,
            (2, 1): self.useLinePoint,
            (2, 2): self.useLineLine,
        }.get((first.corners, second.corners))
        return second.corners == 1 if allowed is None else allowed.get()

    @override
    def hits(self, first: CollisionModel, second: CollisionModel, pairs: np.ndarray) -> Proximities:
        if isinstance(second, SphereCollisionModel):  # touches lines only between their ends
            hits = closest_points(first, second, pairs, self.alarmDistance.get())
            if keeps_sofa_defects():
                hits = _mirror_contacts(hits, first, second, self.alarmDistance.get())
            return hits
        hits = super().hits(first, second, pairs)
        if self.useSurfaceNormals.get() and first.corners == 3:
            x, triangles = first.surface().x, first.elements[hits.element[:, 0]]
            a, b, c = (x[triangles[:, k]] for k in range(3))
            normal = np.cross(b - a, c - a)
            hits.normal[:] = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        return hits

    def names(self, first: CollisionModel, second: CollisionModel, hits: Proximities) -> np.ndarray:
        """Return SOFA's name of each contact; for a sphere and a point, the sphere."""
        spheres = [isinstance(model, SphereCollisionModel) for model in (first, second)]
        if spheres == [True, False]:
            return hits.element[:, 0]
        return super().names(first, second, hits)


class NewProximityIntersection(Intersection):
    """Whole triangles against triangles; each shared corner or edge touches once.

    Spheres on bodies keep their radius from each other, which SOFA's method ignores.
    """

    method = NEW_PROXIMITY

    useLineLine = Bool(False, "Edges of triangles touch edges.", follows="start")

    @override
    def init(self) -> None:
        super().init()
        self.lines = self.useLineLine.get()

    @override
    def supports(self, first: CollisionModel, second: CollisionModel) -> bool:
        del first, second
        return True

    def names(self, first: CollisionModel, second: CollisionModel, hits: Proximities) -> np.ndarray:
        """Return SOFA's name of each contact; for two triangles, a corner or a pair of edges."""
        if second.corners < 3:
            return super().names(first, second, hits)
        t1, t2 = hits.element.T
        (w1, w2), (c1, c2) = hits.weight.transpose(1, 0, 2), hits.weight.argmax(axis=2).T
        of_first, of_second = w1.max(axis=1) == 1.0, w2.max(axis=1) == 1.0
        shared = np.flatnonzero(of_first & of_second)  # corner on corner
        pairs = np.column_stack([t1, t2, c1, c2])[shared]
        _, earliest = np.unique(pairs, axis=0, return_index=True)
        of_first[np.delete(shared, earliest)] = False
        edges = 3 * w1.argmin(axis=1) + w2.argmin(axis=1)  # the opposite corner has the weight 0
        below = -1 - 12 * t2
        names = np.where(of_second, below - c2, below - 3 - edges)
        return np.where(of_first, 3 * t1 + c1, names)


class DiscreteIntersection(Intersection):
    """Spheres against spheres, once they overlap; an error if other elements could touch."""

    alarmDistance = Real(0.0, "Unused: 0, as in SOFA.", unit="length")
    contactDistance = Real(0.0, "Unused: 0, as in SOFA.", unit="length")

    def init(self) -> None:
        """Set the distances to 0, as in SOFA."""
        self.alarmDistance.set(0.0)
        self.contactDistance.set(0.0)

    @override
    def supports(self, first: CollisionModel, second: CollisionModel) -> bool:
        if isinstance(first, SphereCollisionModel) and isinstance(second, SphereCollisionModel):
            return True
        raise self.fault(
            f"finds contacts of spheres alone, but {first.describe()} and {second.describe()} come "
            "near: use LocalMinDistance or MinProximityIntersection."
        )

    @override
    def hits(self, first: CollisionModel, second: CollisionModel, pairs: np.ndarray) -> Proximities:
        # 'proximity' is part of the reach: it enlarges the distance of contacts, not of detection
        thickness = first.proximity.get() + second.proximity.get()
        return closest_points(first, second, pairs, -thickness)


def _is_sphere_on_body(model: CollisionModel) -> bool:
    return isinstance(model, SphereCollisionModel) and model.state.kind.name == "Rigid3"


def closest_points(
    first: CollisionModel, second: CollisionModel, pairs: np.ndarray, alarm: float
) -> Proximities:
    """Return closest points inside both elements, in any direction between them."""
    a, b = (model.surface()._replace(filtered=False) for model in (first, second))
    return near_points(a, b, pairs, LOCAL_MIN_DISTANCE, alarm, 0.0, 0.0, False)


def _mirror_contacts(
    hits: Proximities, first: CollisionModel, second: CollisionModel, alarm: float
) -> Proximities:
    """Return the contacts of lines with spheres, mirrored on each line."""
    if first.corners != 2:
        return hits
    weight = hits.weight.copy()
    weight[:, 0, :2] = hits.weight[:, 0, 1::-1]
    point = hits.point.copy()
    x = first.positions()[first.elements[hits.element[:, 0]]]  # (p, 2, 3)
    point[:, 0] = np.einsum("pk,pkc->pc", weight[:, 0, :2], x)
    offset = point[:, 1] - point[:, 0]
    distance = np.linalg.norm(offset, axis=1)
    reach = first.reach[hits.element[:, 0]] + second.reach[hits.element[:, 1]]
    normal = offset / np.where(distance > 0.0, distance, 1.0)[:, None]
    is_close = distance < alarm + reach
    mirrored = Proximities(hits.element, weight, point, normal, distance)
    return Proximities(*(values[is_close] for values in mirrored))
