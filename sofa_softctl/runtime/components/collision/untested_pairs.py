"""Warn of close bodies without element pairs that the intersection method tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sofa_softctl.runtime.components.collision.intersection import Intersection
from sofa_softctl.runtime.components.collision.models import CollisionModel
from sofa_softctl.runtime.helper import message

Pair = tuple[CollisionModel, CollisionModel]


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
