"""Bodies whose state does not lie where their mesh does, though boxes and points fit the mesh."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sofa_softctl.scene.graph.nodes import nodes_of, own_state
from sofa_softctl.scene.plausibility.bodies import Body, StartWarning, at, point

MOVED_MIN = 1e-3
"""Distance of a node from its position in the mesh, by the body's size, above which it counts."""
SIZE_RATIO_MAX = 2.0
"""Size at the start by that at rest, or the other way round, above which a body is torn apart."""
POINTS_MAX = 64
"""Points of a mapping that are looked for in the elements, which bounds the time that it takes."""


def placement_warnings(bodies: Sequence[Body]) -> list[StartWarning]:
    """Warn of states that a translation, rotation or scale moved away from their mesh."""
    return [warning for body in bodies for warning in _of_body(body)]


def _of_body(body: Body) -> Iterator[StartWarning]:
    yield from _size_warnings(body)
    if body.topology is None or body.topology.findData("position") is None:
        return
    mesh = np.asarray(body.topology.position.value, dtype=float).reshape(-1, 3)[: body.count]
    if len(mesh) < body.count:
        return
    moved = float(np.linalg.norm(body.rest - mesh, axis=1).max())
    if moved <= MOVED_MIN * body.size:
        return
    clues = [*_boxes(body, mesh), *_points(body, mesh)]
    if not clues or min(difference for difference, _ in clues) < 0:
        return
    difference, text = max(clues, key=lambda clue: clue[0])
    if difference > 0:
        offset = np.round((body.rest - mesh).mean(axis=0), 9) + 0.0  # without -0
        yield StartWarning(
            body.state,
            f"{at(body.state)} lies {point(offset)} from its mesh '{body.topology.getPathName()}' "
            f"(up to {moved:.3g} at a node), by its translation, rotation or scale, and {text}. "
            "Move the loader in place of the state, and all that belongs to the body with it.",
        )


def _size_warnings(body: Body) -> Iterator[StartWarning]:
    """Warn of a body that starts far larger or smaller than it is at rest."""
    x = np.asarray(body.state.position.value, dtype=float)[:, :3]
    size, rest_size = (float(np.ptp(y, axis=0).max()) for y in (x, body.rest))
    if not (body.elastic and min(size, rest_size) > 0.0):
        return
    if max(size / rest_size, rest_size / size) > SIZE_RATIO_MAX:
        yield StartWarning(
            body.state,
            f"{at(body.state)} is {size:.4g} long at the start, and {rest_size:.4g} at rest: the "
            "first steps tear it apart. Is 'rest_position' or 'restScale' in other units, or "
            "'position' of another body?",
        )


def _boxes(body: Body, mesh: np.ndarray) -> Iterator[tuple[int, str]]:
    """Yield the differences between the numbers of mesh and state nodes in regions of interest."""
    for region in body.node.objects:
        if region.getClassName() != "BoxROI":
            continue
        boxes = np.asarray(region.box.value, dtype=float).reshape(-1, 6)
        held, meant = (
            sum(int(((x >= box[:3]) & (x <= box[3:])).all(axis=1).sum()) for box in boxes)
            for x in (body.rest, mesh)
        )
        name = region.getPathName()
        yield (
            meant - held,
            f"BoxROI '{name}' would hold {meant} nodes of the mesh in place of {held}",
        )


def _points(body: Body, mesh: np.ndarray) -> Iterator[tuple[int, str]]:
    """Yield the differences between the numbers of mapped points in the mesh and in the body."""
    if body.elements.shape[1] != 4:
        return
    for node in nodes_of(body.node):
        mapping, state = node.getMechanicalMapping(), own_state(node)
        if mapping is None or mapping.getClassName() != "BarycentricMapping" or state is None:
            continue
        x = np.asarray(state.position.value, dtype=float)[:, :3]
        x = x[:: max(1, -(-len(x) // POINTS_MAX))]
        held, meant = (_count_inside(x, nodes, body.elements) for nodes in (body.rest, mesh))
        yield (
            meant - held,
            f"of {len(x)} points of '{node.getPathName()}' {meant} lie in the mesh and {held} in "
            "the body",
        )


def _count_inside(x: np.ndarray, nodes: np.ndarray, tetrahedra: np.ndarray) -> int:
    """Return the number of points in tetrahedra, or on them."""
    corners = nodes[tetrahedra]  # (m, 4, 3)
    edges = np.moveaxis(corners[:, 1:] - corners[:, :1], 1, 2)
    with np.errstate(all="ignore"):
        is_flat = np.abs(np.linalg.det(edges)) == 0.0
        inverse = np.linalg.inv(np.where(is_flat[:, None, None], np.eye(3), edges))
    count = 0
    for p in x:
        weights = np.einsum("mij,mj->mi", inverse, p - corners[:, 0])
        is_inside = (weights >= -1e-6).all(axis=1) & (weights.sum(axis=1) <= 1.0 + 1e-6)
        count += bool((is_inside & ~is_flat).any())
    return count
