"""Warns of bodies that start inside each other: contacts cannot free them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sofa_softctl.runtime import message
from sofa_softctl.runtime.components.collision.models import CollisionModel
from sofa_softctl.runtime.components.collision.surface import is_closed
from sofa_softctl.runtime.kernels.inside import depths


def warn_of_overlap(
    models: list[CollisionModel], may_push: Callable[[CollisionModel, CollisionModel], bool]
) -> None:
    """Warn of each body with nodes inside the closed surface of another.

    Args:
        models: The collision models of a scene.
        may_push: Whether contacts between two of them would push.
    """
    bodies = _by_node(models)
    for around in (model for model in models if model.corners == 3 and _closed(model)):
        for group in bodies:
            others = [model for model in group if may_push(around, model)]
            if not others or around in group:
                continue
            x = others[0].state._data["position"].get()
            nodes = np.unique(np.concatenate([model.elements.ravel() for model in others]))
            depth = _depths(x[nodes], around.surface().x, around.elements)
            if depth.any():
                message.warning(around, _told(around, others[0], depth))


def _depths(points: np.ndarray, x: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """See `depths`; only points in the box around the surface can lie inside."""
    corners = x[triangles].reshape(-1, 3)
    near = ((points > corners.min(axis=0)) & (points < corners.max(axis=0))).all(axis=1)
    found = np.zeros(len(points))
    found[near] = depths(np.ascontiguousarray(points[near]), x, triangles)
    return found


def _by_node(models: list[CollisionModel]) -> list[list[CollisionModel]]:
    found: dict[int, list[CollisionModel]] = {}
    for model in models:
        found.setdefault(id(model._context), []).append(model)
    return list(found.values())


def _closed(model: CollisionModel) -> bool:
    return not model.touches_both_sides() and is_closed(model.elements)


def _told(around: CollisionModel, other: CollisionModel, depth: np.ndarray) -> str:
    return (
        f"{np.count_nonzero(depth)} of {len(depth)} points of {other.state.describe()} start "
        f"inside {around.describe()}, up to {depth.max():.3g} deep: contacts do not push them out, "
        "or push the wrong way. Move one of them by more than that plus contactDistance; if they "
        "belong into each other, give their models a common 'group'."
    )
