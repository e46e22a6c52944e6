"""Warn of bodies that start inside or behind each other: contacts do not separate them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.components.collision.intersection import Intersection
from sofa_softctl.runtime.components.collision.models import CollisionModel
from sofa_softctl.runtime.components.collision.surface import is_closed
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.kernels.contact.broad_phase import candidate_pairs, element_boxes
from sofa_softctl.runtime.kernels.contact.inside import depths, distances
from sofa_softctl.runtime.kernels.contact.sides import (
    EQUAL_LENGTH_TOLERANCE,
    crossings,
    heights,
    rims,
)


class CollisionBody(NamedTuple):
    """Collision models of one node."""

    model: CollisionModel
    """One of its collision models."""
    x: np.ndarray
    """Positions of its state [length], shape (n, 3)."""
    nodes: np.ndarray
    """Nodes that can touch, shape (m,)."""
    reach: np.ndarray
    """Thickness or radius at each of them [length], shape (m,)."""
    edges: np.ndarray
    """Edges that join its nodes, shape (e, 2)."""


class Overlap(NamedTuple):
    """Relative position of a body and a surface."""

    depth: np.ndarray
    """How far each point is beyond the surface [length], shape (m,). 0: it is not."""
    touching: np.ndarray
    """Which points lie on the surface, bool (m,)."""
    crossing: int
    """Edges that go through it."""


class Sunk(NamedTuple):
    """A body in the surface of another."""

    around: CollisionModel
    """The surface."""
    model: CollisionModel
    """A collision model of the body."""
    inside_count: int
    """Number of its points on the wrong side."""
    point_count: int
    """Number of its points."""
    depth: float
    """Distance of the deepest of them from the surface [length]."""


def sunk_bodies(
    models: list[CollisionModel],
    may_push: Callable[[CollisionModel, CollisionModel], bool],
    method: Intersection,
) -> list[Sunk]:
    """Return the bodies with points on the wrong side of the surface of another, now.

    Args:
        models: The collision models of a scene.
        may_push: Returns True if contacts between two of them would push.
        method: How contacts are found.
    """
    sunk = []
    for around, body in _meetings(models, may_push):
        depth = _overlap(around, body, method).depth
        if count := int(np.count_nonzero(depth)):
            sunk.append(Sunk(around, body.model, count, len(body.nodes), float(depth.max())))
    return sunk


def warn_of_overlap(
    models: list[CollisionModel],
    may_push: Callable[[CollisionModel, CollisionModel], bool],
    method: Intersection,
) -> None:
    """Warn of each body with points on the wrong side of the surface of another, or on it.

    The wrong side is the inside of a closed surface. Of an open one, such as a plane of two
    triangles, it is the back as far as contacts are looked for, and beyond that for a body that
    goes through it. What lies wholly behind an open surface, and not near it, is meant to.

    Args:
        models: The collision models of a scene.
        may_push: Whether contacts between two of them would push.
        method: How contacts are found.
    """
    crossed: list[tuple[CollisionModel, CollisionBody, int]] = []
    named: set[frozenset[int]] = set()
    for around, body in _meetings(models, may_push):
        overlap = _overlap(around, body, method)
        pair = frozenset((id(around._context), id(body.model._context)))
        text = _describe(around, body, overlap, method.contactDistance.get())
        if text:
            named.add(pair)
            message.warning(around, text)
        elif overlap.crossing and pair not in named:
            crossed.append((around, body, overlap.crossing))
    for around, body, count in crossed:
        pair = frozenset((id(around._context), id(body.model._context)))
        if pair not in named:
            named.add(pair)
            message.warning(around, _describe_crossing(around, body, count))


# -- geometry -------------------------------------------------------------------------------------


def _overlap(around: CollisionModel, body: CollisionBody, method: Intersection) -> Overlap:
    x, triangles = around.surface().x, around.elements
    same = EQUAL_LENGTH_TOLERANCE * float(
        np.linalg.norm(np.ptp(x[triangles].reshape(-1, 3), axis=0))
    )
    alarm = method.alarmDistance.get()
    height = _heights(around, body, alarm, same)
    touching = np.abs(height) <= same
    depth = np.zeros(len(body.nodes))
    one_sided = not around.touches_both_sides()
    closed = _encloses(around)
    if one_sided:
        behind = height < -same
        depth[behind] = -height[behind]
    if one_sided and closed:
        depth = np.maximum(depth, _depths(body.x[body.nodes], x, triangles))
        depth[touching] = 0.0
    elif one_sided and not len(body.edges) and _is_carried(body):
        depth = np.maximum(depth, _behind_and_in_front(around, body, same))
    beyond, crossing = _beyond(around, body, same)
    if not (one_sided and closed):
        missed = beyond[body.nodes] & (depth == 0.0) & ~touching
        depth[missed] = distances(np.ascontiguousarray(body.x[body.nodes[missed]]), x, triangles)
    return Overlap(depth, touching, crossing)


def _encloses(around: CollisionModel) -> bool:
    """Whether a surface is closed and faces outwards; one that faces inwards holds what it has."""
    if not is_closed(around.elements):
        return False
    a, b, c = (around.surface().x[around.elements[:, k]] for k in range(3))
    return float(np.einsum("tc,tc->", a - a[0], np.cross(b - a[0], c - a[0]))) > 0.0


def _heights(around: CollisionModel, body: CollisionBody, alarm: float, same: float) -> np.ndarray:
    """See `heights`: of points near enough for contacts to be looked for, else nan, shape (m,)."""
    points = np.ascontiguousarray(body.x[body.nodes])
    own = np.arange(len(points))[:, None]
    x = around.surface().x
    near = candidate_pairs(
        element_boxes(x, around.elements, around.reach + alarm),
        element_boxes(points, own, body.reach),
    )
    found = heights(points, x, around.elements, *rims(around.elements), near, same)
    reach = alarm + body.reach + around.reach.max(initial=0.0)
    return np.where(np.abs(found) < reach, found, np.nan)


def _behind_and_in_front(around: CollisionModel, body: CollisionBody, same: float) -> np.ndarray:
    """Depth of points behind a surface, however far, if others are in front of it, shape (m,)."""
    height = _heights(around, body, np.inf, same)
    return np.where((height < -same) & (height > same).any(), -height, 0.0)


def _depths(points: np.ndarray, x: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """See `depths`; only points in the box around the surface can lie inside."""
    corners = x[triangles].reshape(-1, 3)
    near = ((points > corners.min(axis=0)) & (points < corners.max(axis=0))).all(axis=1)
    found = np.zeros(len(points))
    found[near] = depths(np.ascontiguousarray(points[near]), x, triangles)
    return found


def _beyond(around: CollisionModel, body: CollisionBody, same: float) -> tuple[np.ndarray, int]:
    """Nodes that lie beyond a surface which edges of their body go through, and those edges' count.

    Beyond are the ends of these edges behind the surface, and what other edges join to them, but
    not what is joined to an end in front as well: that goes around the border.
    """
    x, edges = around.surface().x, body.edges
    none = np.zeros(len(body.x), dtype=bool)
    pairs = candidate_pairs(
        element_boxes(x, around.elements, np.zeros(len(around.elements))),
        element_boxes(body.x, edges, np.zeros(len(edges))) if len(edges) else np.empty((0, 6)),
    )
    end = crossings(body.x, edges, x, around.elements, pairs, same)
    crossed, end = pairs[end > 0, 1], end[end > 0] - 1
    if not len(crossed):
        return none, 0
    kept = np.delete(edges, crossed, axis=0)
    joined = sparse.coo_array((np.ones(len(kept)), kept.T), shape=(len(body.x), len(body.x)))
    _, part = sparse.csgraph.connected_components(joined, directed=False)
    behind, front = edges[crossed, end], edges[crossed, 1 - end]
    only = ~np.isin(part, part[front])
    beyond = np.isin(part, part[behind]) & only
    beyond[behind] = True
    return beyond, len(np.unique(crossed))


# -- bodies ---------------------------------------------------------------------------------------


def _meetings(
    models: list[CollisionModel], may_push: Callable[[CollisionModel, CollisionModel], bool]
) -> Iterator[tuple[CollisionModel, CollisionBody]]:
    """Each surface of triangles with each body that it may push."""
    bodies = _by_node(models)
    for around in (model for model in models if model.corners == 3 and len(model.elements)):
        for group in bodies:
            pushed = [model for model in group if may_push(around, model)]
            if pushed and around not in group:
                yield around, _body(pushed)


def _by_node(models: list[CollisionModel]) -> list[list[CollisionModel]]:
    found: dict[int, list[CollisionModel]] = {}
    for model in models:
        found.setdefault(id(model._context), []).append(model)
    return list(found.values())


def _body(models: list[CollisionModel]) -> CollisionBody:
    x = models[0].places()
    reach = np.zeros(len(x))
    edges = [models[0]._surface.edges]
    for model in models:
        np.maximum.at(reach, model.elements, model.reach[:, None])
        edges += [model.elements[:, [k, (k + 1) % model.corners]] for k in range(model.corners - 1)]
    nodes = np.unique(np.concatenate([model.elements.ravel() for model in models]))
    return CollisionBody(models[0], x, nodes, reach[nodes], np.concatenate(edges).astype(np.int64))


def _is_carried(body: CollisionBody) -> bool:
    """Whether a mapping carries the points, so that they move as one body."""
    assert body.model._context is not None
    return bool(body.model._context.of("mapping"))


# -- words ----------------------------------------------------------------------------------------


def _describe(around: CollisionModel, body: CollisionBody, found: Overlap, keep: float) -> str:
    """Text on points on the wrong side, or on the surface; empty if there are none."""
    count, touching = np.count_nonzero(found.depth), np.count_nonzero(found.touching)
    points = f"of {len(body.nodes)} points of {body.model.state.describe()} start"
    group = "if they belong into each other, give their models a common 'group'."
    if not count and not touching:
        return ""
    if not count:
        return (
            f"{touching} {points} exactly on {around.describe()}: touching points have no "
            "direction between them, so contacts push them anywhere. Move one of them by more than "
            f"contactDistance, {keep + _widest(body, found.touching):.3g}; {group}"
        )
    closed = _encloses(around)
    where = "inside" if closed else "behind"
    facing = "" if closed else ", on the side that its triangles face away from"
    deepest = float(found.depth.max())
    return (
        f"{count} {points} {where} {around.describe()}{facing}, up to {deepest:.3g} deep: contacts "
        "do not push them out, or push the wrong way. Move one of them by more than that plus "
        f"contactDistance, {deepest + keep + _widest(body, found.depth > 0.0):.3g} in all; {group}"
    )


def _widest(body: CollisionBody, chosen: np.ndarray) -> float:
    return float(body.reach[chosen].max(initial=0.0))


def _describe_crossing(around: CollisionModel, body: CollisionBody, count: int) -> str:
    return (
        f"{count} edges of {body.model.state.describe()} start through {around.describe()}, though "
        "neither has points inside the other: contacts do not push them apart, or push the wrong "
        "way. Move one of them; if they belong into each other, give their models a common 'group'."
    )
