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
DIFFERENT = 0.1
"""Distance of a region's nodes from those of the state by the size of the body above which they are
others [-]."""
_ELEMENTS = re.compile("edge|triangle|quad|tetra|hexa", re.IGNORECASE)


def link_warnings(entry: Any, node: Any) -> Iterator[StartWarning]:
    """Warn of Data that follow a region of interest and mean something else; and of movements."""
    for name, data in attributes_of(entry).get("_data", {}).items():
        parent = data.getParent()
        if parent is None:
            continue
        region = parent.getOwner()
        if region is None or not region.getClassName().endswith("ROI"):
            continue
        if parent.name == "indices":
            yield from _element_numbers(entry, name, data, region)
            yield from _other_nodes(entry, name, data, region)
        elif (chosen := region.findData(f"{parent.name}InROI")) is not None:
            yield from _all_elements(entry, node, data, chosen)
    if entry.getClassName() == "LinearMovementProjectiveConstraint":
        yield from _places(entry, node)


def _element_numbers(entry: Any, name: str, data: Any, region: Any) -> Iterator[StartWarning]:
    """Numbers of nodes where those of elements are meant."""
    kind = _ELEMENTS.search(name)
    if kind is None or np.ndim(data.get()) != 1 or not len(data.get()):
        return
    stem = kind[0].lower()
    wanted = f"{stem}{'hedron' if stem.endswith('a') else ''}Indices"
    path = region.getPathName()
    yield StartWarning(
        entry,
        f"{at(entry)}: '{name}' is to hold numbers of elements, and follows '@{path}.indices', "
        f"which are numbers of nodes. Use '@{path}.{wanted}'.",
    )


def _other_nodes(entry: Any, name: str, data: Any, region: Any) -> Iterator[StartWarning]:
    """Numbers of the nodes of another body."""
    state = attributes_of(entry).get("state")
    if data.type.of != "node" or state is None:
        return
    nodes, x = np.asarray(data.get()), np.asarray(state.position.value, dtype=float)
    held = np.asarray(region.position.value, dtype=float)
    if len(held) == len(x) or not len(nodes) or nodes.max() >= min(len(x), len(held)):
        return
    rest = np.asarray(state.rest_position.value, dtype=float)
    places = [x, rest] if len(rest) == len(x) and x.shape[1] >= 3 else [x]
    gap = min(np.linalg.norm(y[nodes, :3] - held[nodes, :3], axis=1).max() for y in places)
    size = body_size(state.getContext())
    if gap > DIFFERENT * size > 0.0:
        yield StartWarning(
            entry,
            f"{at(entry)}: '{name}' follows '@{region.getPathName()}.indices', a region among "
            f"{len(held)} other points: '{state.getPathName()}' has {len(x)} nodes, and those of "
            f"these numbers lie up to {gap:.3g} elsewhere. Use a region of this body.",
        )


def _all_elements(entry: Any, node: Any, data: Any, chosen: Any) -> Iterator[StartWarning]:
    """All elements that a region looked at, where those inside are meant."""
    count, inside = len(data.get()), len(chosen.value)
    if node.getMechanicalMapping() is not None and 0 < inside < count:
        region = chosen.owner.getPathName()
        yield StartWarning(
            entry,
            f"{at(entry)}: '{data.name}' follows '@{region}.{data.getParent().name}', all {count} "
            f"elements that the region looks at, and {inside} are inside: they would count twice. "
            f"Use '@{region}.{chosen.name}'.",
        )


def _places(entry: Any, node: Any) -> Iterator[StartWarning]:
    """A first movement at the start that is not 0."""
    times, movements = (np.asarray(d.value, float) for d in (entry.keyTimes, entry.movements))
    if not len(times) or not len(movements) or times[0] > 0.0 or not entry.relativeMovements.value:
        return
    jump, size = float(np.linalg.norm(movements[0, :3])), body_size(node)
    if jump > JUMP_MIN * size > 0.0:
        yield StartWarning(
            entry,
            f"{at(entry)}: its first movement at time {times[0]:g} is {jump:.3g} long, and the "
            f"body {size:.3g}: its nodes jump there in the first step. Movements are displacements "
            "from the first position: begin with 0, or give relativeMovements=False for places.",
        )
