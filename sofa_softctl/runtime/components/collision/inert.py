"""Collision components: accepted and checked; there are no contacts in this version."""

from __future__ import annotations

from typing import ClassVar

from sofa_softctl.runtime.component import Component
from sofa_softctl.runtime.data_types import Bool, Int, Integers, Real, Reals, Text, Vector
from sofa_softctl.runtime.link import LinkType


class _Collision(Component):
    category: ClassVar[str] = "collision"


class CollisionPipeline(_Collision):
    """Accepted, without effect."""

    aliases = ("DefaultPipeline",)

    verbose = Bool(False, "Unused.")
    draw = Bool(False, "Unused.")
    depth = Int(6, "Unused.")


class BruteForceBroadPhase(_Collision):
    """Accepted, without effect."""

    aliases = ("BruteForceDetection",)

    box = Vector(6, [0.0] * 6, "Unused.")


class BVHNarrowPhase(_Collision):
    """Accepted, without effect."""


class _Intersection(_Collision):
    alarmDistance = Real(1.0, "Distance at which a contact is looked at.", unit="length")
    contactDistance = Real(0.5, "Distance at which a contact pushes.", unit="length")
    useLineLine = Bool(True, "Unused.")
    useSurfaceNormals = Bool(False, "Unused.")


class LocalMinDistance(_Intersection):
    """Accepted, without effect."""

    angleCone = Real(0.0, "Unused.")
    coneFactor = Real(0.5, "Unused.")
    useLMDFilters = Bool(False, "Unused.")
    filterIntersection = Bool(True, "Unused.")


class MinProximityIntersection(_Intersection):
    """Accepted, without effect."""


class NewProximityIntersection(_Intersection):
    """Accepted, without effect."""


class DiscreteIntersection(_Collision):
    """Accepted, without effect."""


class CollisionResponse(_Collision):
    """Accepted, without effect."""

    aliases = ("DefaultContactManager",)

    response = Text("", "Kind of contact.")
    responseParams = Text("", "Parameters of the contact, such as 'mu=0.8'.")


class RuleBasedContactManager(_Collision):
    """Accepted, without effect."""

    response = Text("", "Kind of contact.")
    responseParams = Text("", "Parameters of the contact, such as 'mu=0.8'.")
    rules = Text("", "Kinds of contact by groups.")
    variables = Text("", "Variables of the rules.")


class _CollisionModel(_Collision):
    active = Bool(True, "Takes part.")
    moving = Bool(True, "Moves.")
    simulated = Bool(True, "Is moved by the simulation.")
    selfCollision = Bool(False, "Collides with itself.")
    contactDistance = Real(0.0, "Distance of its own.", unit="length", aliases=("proximity",))
    contactStiffness = Real(10.0, "Unused.")
    contactFriction = Real(0.0, "Unused.")
    contactRestitution = Real(0.0, "Unused.")
    contactResponse = Text("", "Kind of contact.")
    color = Vector(4, [1.0, 0.0, 0.0, 1.0], "Color.")
    group = Integers([], "Models of a common group do not collide.")
    topology = LinkType("Topology that holds the elements.")


class PointCollisionModel(_CollisionModel):
    """Accepted, without effect."""

    bothSide = Bool(False, "Unused.")


class LineCollisionModel(_CollisionModel):
    """Accepted, without effect."""

    bothSide = Bool(False, "Unused.")


class TriangleCollisionModel(_CollisionModel):
    """Accepted, without effect."""

    bothSide = Bool(False, "Unused.")
    useCurvature = Bool(False, "Unused.")


class SphereCollisionModel(_CollisionModel):
    """Accepted, without effect."""

    radius = Real(1.0, "Radius of each sphere.", unit="length")
    listRadius = Reals([], "Radii.", unit="length")
    defaultRadius = Real(1.0, "Radius where none is given.", unit="length")
