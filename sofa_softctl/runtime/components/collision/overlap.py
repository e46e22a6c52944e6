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
    """Depth of each point behind the surface [length], shape (m,), or 0."""
    touching: np.ndarray
    """True for points on the surface, shape (m,)."""
    crossing: int
    """Number of edges that go through the surface."""


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
    """Distance of the deepest point from the surface [length]."""


def sunk_bodies(
    models: list[CollisionModel],
    may_push: Callable[[CollisionModel, CollisionModel], bool],
    method: Intersection,
) -> list[Sunk]:
    """Return the bodies with points on the wrong side of another's present surface.

    Args:
        models: The collision models of a scene.
        may_push: Returns True if contacts between two models would push.
        method: Intersection method of the scene.
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

    The wrong side is the inside of a closed surface. For an open one, such as a plane of two
    triangles, it is the back within the alarm distance, and further for a body that goes through
    it. A body that lies wholly behind an open surface, and not near it, is accepted.

    Args:
        models: The collision models of a scene.
        may_push: Returns True if contacts between two models would push.
        method: Intersection method of the scene.
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
    extents = np.ptp(x[triangles].reshape(-1, 3), axis=0)
    eps = EQUAL_LENGTH_TOLERANCE * float(np.linalg.norm(extents))
    alarm = method.alarmDistance.get()
    height = _heights(around, body, alarm, eps)
    touching = np.abs(height) <= eps
    depth = np.zeros(len(body.nodes))
    one_sided = not around.touches_both_sides()
    closed = _is_closed_outwards(around)
    if one_sided:
        behind = height < -eps
        depth[behind] = -height[behind]
    if one_sided and closed:
        depth = np.maximum(depth, _depths(body.x[body.nodes], x, triangles))
        depth[touching] = 0.0
    elif one_sided and not len(body.edges) and _is_carried(body):
        depth = np.maximum(depth, _behind_and_in_front(around, body, eps))
    is_behind, crossing = _behind(around, body, eps)
    if not (one_sided and closed):
        missed = is_behind[body.nodes] & (depth == 0.0) & ~touching
        depth[missed] = distances(np.ascontiguousarray(body.x[body.nodes[missed]]), x, triangles)
    return Overlap(depth, touching, crossing)


def _is_closed_outwards(around: CollisionModel) -> bool:
    """Return True if a surface is closed and faces outwards, not inwards like a container."""
    if not is_closed(around.elements):
        return False
    a, b, c = (around.surface().x[around.elements[:, k]] for k in range(3))
    return float(np.einsum("tc,tc->", a - a[0], np.cross(b - a[0], c - a[0]))) > 0.0


def _heights(around: CollisionModel, body: CollisionBody, alarm: float, eps: float) -> np.ndarray:
    """Return the `heights` of points within the alarm distance, else nan, shape (m,)."""
    points = np.ascontiguousarray(body.x[body.nodes])
    numbers = np.arange(len(points))[:, None]
    x = around.surface().x
    pairs = candidate_pairs(
        element_boxes(x, around.elements, around.reach + alarm),
        element_boxes(points, numbers, body.reach),
    )
    signed = heights(points, x, around.elements, *rims(around.elements), pairs, eps)
    reach = alarm + body.reach + around.reach.max(initial=0.0)
    return np.where(np.abs(signed) < reach, signed, np.nan)


def _behind_and_in_front(around: CollisionModel, body: CollisionBody, eps: float) -> np.ndarray:
    """Return the depths behind a surface, at any distance, if other points are in front of it."""
    height = _heights(around, body, np.inf, eps)
    return np.where((height < -eps) & (height > eps).any(), -height, 0.0)


def _depths(points: np.ndarray, x: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return the `depths`; only points in the box around the surface can lie inside."""
    corners = x[triangles].reshape(-1, 3)
    is_near = ((points > corners.min(axis=0)) & (points < corners.max(axis=0))).all(axis=1)
    result = np.zeros(len(points))
    result[is_near] = depths(np.ascontiguousarray(points[is_near]), x, triangles)
    return result


def _behind(around: CollisionModel, body: CollisionBody, eps: float) -> tuple[np.ndarray, int]:
    """Return nodes behind a surface that edges of their body cross, and the count of the edges.

    Behind are the rear ends of these edges, and all nodes that other edges join to them, except
    nodes that are joined to a front end as well: these go around the border.
    """
    x, edges = around.surface().x, body.edges
    nothing = np.zeros(len(body.x), dtype=bool)
    pairs = candidate_pairs(
        element_boxes(x, around.elements, np.zeros(len(around.elements))),
        element_boxes(body.x, edges, np.zeros(len(edges))) if len(edges) else np.empty((0, 6)),
    )
    end = crossings(body.x, edges, x, around.elements, pairs, eps)
    crossed, end = pairs[end > 0, 1], end[end > 0] - 1
    if not len(crossed):
        return nothing, 0
    intact = np.delete(edges, crossed, axis=0)
    graph = sparse.coo_array((np.ones(len(intact)), intact.T), shape=(len(body.x), len(body.x)))
    _, part = sparse.csgraph.connected_components(graph, directed=False)
    behind, front = edges[crossed, end], edges[crossed, 1 - end]
    is_enclosed = ~np.isin(part, part[front])
    is_behind = np.isin(part, part[behind]) & is_enclosed
    is_behind[behind] = True
    return is_behind, len(np.unique(crossed))


# -- bodies ---------------------------------------------------------------------------------------


def _meetings(
    models: list[CollisionModel], may_push: Callable[[CollisionModel, CollisionModel], bool]
) -> Iterator[tuple[CollisionModel, CollisionBody]]:
    """Yield each surface of triangles with each body that it may push."""
    bodies = _group_by_node(models)
    for around in (model for model in models if model.corners == 3 and len(model.elements)):
        for group in bodies:
            pushed = [model for model in group if may_push(around, model)]
            if pushed and around not in group:
                yield around, _body(pushed)


def _group_by_node(models: list[CollisionModel]) -> list[list[CollisionModel]]:
    groups: dict[int, list[CollisionModel]] = {}
    for model in models:
        groups.setdefault(id(model._context), []).append(model)
    return list(groups.values())


def _body(models: list[CollisionModel]) -> CollisionBody:
    x = models[0].positions()
    reach = np.zeros(len(x))
    edges = [models[0]._surface.edges]
    for model in models:
        np.maximum.at(reach, model.elements, model.reach[:, None])
        edges += [model.elements[:, [k, (k + 1) % model.corners]] for k in range(model.corners - 1)]
    nodes = np.unique(np.concatenate([model.elements.ravel() for model in models]))
    return CollisionBody(models[0], x, nodes, reach[nodes], np.concatenate(edges).astype(np.int64))


def _is_carried(body: CollisionBody) -> bool:
    """Return True if a mapping carries the points, so that they move as one body."""
    assert body.model._context is not None
    return bool(body.model._context.of("mapping"))


# -- words ----------------------------------------------------------------------------------------


def _describe(around: CollisionModel, body: CollisionBody, overlap: Overlap, keep: float) -> str:
    """Describe points on the wrong side or on the surface, or return ""."""
    count, touching = np.count_nonzero(overlap.depth), np.count_nonzero(overlap.touching)
    points = f"of {len(body.nodes)} points of {body.model.state.describe()} start"
    group = "if they belong into each other, give their models a common 'group'."
    if not count and not touching:
        return ""
    if not count:
        return (
            f"{touching} {points} exactly on {around.describe()}: touching points have no "
            "direction between them, so contacts push them anywhere. Move one of them by more than "
            f"contactDistance, {keep + _widest(body, overlap.touching):.3g}; {group}"
        )
    closed = _is_closed_outwards(around)
    side = "inside" if closed else "behind"
    facing = "" if closed else ", on the side that its triangles face away from"
    deepest = float(overlap.depth.max())
    step = deepest + keep + _widest(body, overlap.depth > 0.0)
    return (
        f"{count} {points} {side} {around.describe()}{facing}, up to {deepest:.3g} deep: contacts "
        "do not push them out, or push the wrong way. Move one of them by more than that plus "
        f"contactDistance, {step:.3g} in all; {group}"
    )


def _widest(body: CollisionBody, chosen: np.ndarray) -> float:
    return float(body.reach[chosen].max(initial=0.0))


def _describe_crossing(around: CollisionModel, body: CollisionBody, count: int) -> str:
    return (
        f"{count} edges of {body.model.state.describe()} start through {around.describe()}, though "
        "neither has points inside the other: contacts do not push them apart, or push the wrong "
        "way. Move one of them; if they belong into each other, give their models a common 'group'."
    )
