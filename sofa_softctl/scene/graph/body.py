"""The body that a node belongs to, its size, elements and cables."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.scene.graph.nodes import nodes_of, own_state


def body_of(node: Any) -> Any:
    """The highest node at or above a node that holds a state; None where there is none."""
    found = None
    while node is not None:
        if own_state(node) is not None:
            found = node
        parents = list(node.parents)
        node = parents[0] if parents else None
    return found


def body_size(node: Any) -> float:
    """Largest side of the box around the body of a node, as it stands now [length].

    The body is `body_of` the node: all points of all states there and below. Where that is a
    single point, the box is that of the whole scene.

    Args:
        node: A node of an initialised scene graph.
    """
    body = body_of(node)
    size = 0.0 if body is None else box_size(body)
    return size if size > 0.0 else box_size(root_of(node))


def root_of(node: Any) -> Any:
    """The root of a node's graph."""
    while parents := list(node.parents):
        node = parents[0]
    return node


def box_size(node: Any) -> float:
    """Largest side of the box around all states of a node and those below [length]; 0: none."""
    return float(np.ptp(box_of(node), axis=0).max())


def box_of(node: Any) -> np.ndarray:
    """Smallest and largest corner of all states of a node and those below [length], shape (2, 3).

    Zeros if there are none.
    """
    points = [
        np.asarray(state.position.value)[:, :3]
        for child in nodes_of(node)
        if (state := own_state(child)) is not None and np.shape(state.position.value)[1] >= 3
    ]
    x = np.concatenate([np.empty((0, 3)), *points])
    return np.array([x.min(axis=0), x.max(axis=0)]) if len(x) else np.zeros((2, 3))


def elements_of(topology: Any, kind: str) -> np.ndarray:
    """Elements of a kind, shape (n, width); n = 0 where it has none, or a flag of that name."""
    data = topology.findData(kind)
    width = {"triangles": 3, "hexahedra": 8}.get(kind, 4)
    is_flag = data is None or isinstance(data.value, bool)  # such as those of exporters
    return np.array([] if is_flag else data.value, dtype=int).reshape(-1, width)


def cable_components(nodes: list[Any]) -> list[Any]:
    """The cables of a scene."""
    entries = (entry for node in nodes for entry in node.objects)
    return [
        entry
        for entry in entries
        if entry.getClassName().startswith("Cable")
        and all(map(entry.findData, ("indices", "pullPoint", "hasPullPoint")))
    ]


def stiffness_of(component: Any) -> float:
    """Return the largest Young's modulus of the body of a component [pressure], 0 without one."""
    body = body_of(component.getContext())
    fields = [] if body is None else [e for e in body.objects if e.findData("youngModulus")]
    return max((float(np.max(e.youngModulus.value, initial=0.0)) for e in fields), default=0.0)


def section_of(component: Any) -> float:
    """Return the mean cross-section of the body of a component [length^2], of its box at most.

    The box is that at rest, or, where the nodes are on a line, the present one with its skin.
    """
    body = body_of(component.getContext())
    if body is None:
        return 0.0
    rest = np.asarray(own_state(body).rest_position.value)
    boxes = [np.ptp(rest[:, :3], axis=0)] if rest.ndim == 2 and len(rest) else []
    sides = next(filter(np.all, boxes), np.ptp(box_of(body), axis=0))
    lower, middle = np.sort(sides)[:2]
    return float(lower) * float(middle)  # infinite where a run diverged
