"""Links that lead to numbers of something else, and movements that are given as places."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from sofa_softctl.scene.graph.nodes import attributes_of, body_size
from sofa_softctl.scene.plausibility.bodies import StartWarning, at

JUMP_MIN = 0.1
"""First movement by the size of the body above which it is a jump [-]."""
NODE_DISTANCE_MAX = 0.1
"""Distance of a region's nodes from the state's nodes by the size of the body, above which they
differ [-]."""
_ELEMENTS = re.compile("edge|triangle|quad|tetra|hexa", re.IGNORECASE)


def link_warnings(user: Any, node: Any) -> Iterator[StartWarning]:
    """Warn of Data that follow a region of interest and mean something else; and of movements."""
    for name, data in attributes_of(user).get("_data", {}).items():
        parent = data.getParent()
        if parent is None:
            continue
        region = parent.getOwner()
        if region is None or not region.getClassName().endswith("ROI"):
            continue
        if parent.name == "indices":
            yield from _element_numbers(user, name, data, region)
            yield from _other_nodes(user, name, data, region)
        elif (chosen := region.findData(f"{parent.name}InROI")) is not None:
            yield from _all_elements(user, node, data, chosen)
    if user.getClassName() == "LinearMovementProjectiveConstraint":
        yield from _jumps(user, node)


def _element_numbers(user: Any, name: str, data: Any, region: Any) -> Iterator[StartWarning]:
    """Warn of numbers of nodes in place of numbers of elements."""
    kind = _ELEMENTS.search(name)
    if kind is None or np.ndim(data.get()) != 1 or not len(data.get()):
        return
    stem = kind[0].lower()
    data_name = f"{stem}{'hedron' if stem.endswith('a') else ''}Indices"
    path = region.getPathName()
    yield StartWarning(
        user,
        f"{at(user)}: '{name}' is to hold numbers of elements, and follows '@{path}.indices', "
        f"which are numbers of nodes. Use '@{path}.{data_name}'.",
    )


def _other_nodes(user: Any, name: str, data: Any, region: Any) -> Iterator[StartWarning]:
    """Warn of numbers of the nodes of another body."""
    state = attributes_of(user).get("state")
    if data.type.of != "node" or state is None:
        return
    nodes, x = np.asarray(data.get()), np.asarray(state.position.value, dtype=float)
    points = np.asarray(region.position.value, dtype=float)
    if len(points) == len(x) or not len(nodes) or nodes.max() >= min(len(x), len(points)):
        return
    rest = np.asarray(state.rest_position.value, dtype=float)
    layouts = [x, rest] if len(rest) == len(x) and x.shape[1] >= 3 else [x]
    gap = min(np.linalg.norm(y[nodes, :3] - points[nodes, :3], axis=1).max() for y in layouts)
    size = body_size(state.getContext())
    if gap > NODE_DISTANCE_MAX * size > 0.0:
        yield StartWarning(
            user,
            f"{at(user)}: '{name}' follows '@{region.getPathName()}.indices', a region among "
            f"{len(points)} other points: '{state.getPathName()}' has {len(x)} nodes, and those of "
            f"these numbers lie up to {gap:.3g} elsewhere. Use a region of this body.",
        )


def _all_elements(user: Any, node: Any, data: Any, chosen: Any) -> Iterator[StartWarning]:
    """Warn of all elements of a region's mesh in place of the elements inside."""
    count, inside = len(data.get()), len(chosen.value)
    if node.getMechanicalMapping() is not None and 0 < inside < count:
        region = chosen.owner.getPathName()
        yield StartWarning(
            user,
            f"{at(user)}: '{data.name}' follows '@{region}.{data.getParent().name}', all {count} "
            f"elements that the region looks at, and {inside} are inside: they would count twice. "
            f"Use '@{region}.{chosen.name}'.",
        )


def _jumps(user: Any, node: Any) -> Iterator[StartWarning]:
    """Warn of a first movement at the start that is not 0."""
    times, movements = (np.asarray(d.value, float) for d in (user.keyTimes, user.movements))
    if not len(times) or not len(movements) or times[0] > 0.0 or not user.relativeMovements.value:
        return
    jump, size = float(np.linalg.norm(movements[0, :3])), body_size(node)
    if jump > JUMP_MIN * size > 0.0:
        yield StartWarning(
            user,
            f"{at(user)}: its first movement at time {times[0]:g} is {jump:.3g} long, and the "
            f"body {size:.3g}: its nodes jump there in the first step. Movements are displacements "
            "from the first position: begin with 0, or give relativeMovements=False for places.",
        )
