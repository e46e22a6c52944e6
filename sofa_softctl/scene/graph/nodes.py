"""Nodes of a scene graph, their states, paths and objects, and the bodies that they belong to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.backend.backend import find_backend

_KEY = "_softctl_without_devices"


def keep_devices_closed(root: Any) -> None:
    """Say of a scene that its controllers must not open devices: it is a copy, or only measured."""
    root.__dict__[_KEY] = True


def devices_stay_closed(root: Any) -> bool:
    """Whether controllers of this scene must not open devices; ask before the first step."""
    return bool(getattr(root, "__dict__", {}).get(_KEY))


def path_of(entry: Any, holder: Any = None) -> str:
    """Path of a node or component without the first '/', which tells it from all others.

    Of siblings with one name, as SOFA allows, the second is `name#2`, the third `name#3`; nodes
    without a name are `#1`, `#2`.

    Args:
        entry: The node or component.
        holder: Node that holds it, where SOFA's Python does not know it of a component.
    """
    core: Any = find_backend().Sofa.Core
    is_node = isinstance(entry, core.Node)
    if holder is None:
        holder = next(iter(entry.parents), None) if is_node else entry.getContext()
    if holder is None:  # the root, or what is in no graph
        return "" if is_node else str(entry.getPathName().lstrip("/"))
    name = str(entry.getName())
    siblings = holder.children if is_node else holder.objects
    same = [sibling for sibling in siblings if sibling.getName() == name]
    number = same.index(entry) if len(same) > 1 and entry in same else 0
    if number or not name:
        name += f"#{number + 1}"
    above = path_of(holder)
    return f"{above}/{name}" if above else name


def own_state(node: Any) -> Any:
    """The MechanicalObject that the node itself holds, None when it has none."""
    return next((e for e in node.objects if e.getClassName() == "MechanicalObject"), None)


def state_at(root: Any, path: str) -> Any:
    """The state of the node at a path such as '/arm/beam', its own or the one that it inherits.

    Raises:
        SceneError: no such node, or it has no state.
    """
    for node in nodes_of(root):
        if node.getPathName() == path and (state := node.getMechanicalState()) is not None:
            return state
    known = [node.getPathName() for node in nodes_of(root) if node.getMechanicalState() is not None]
    raise SceneError(f"No node '{path}' with a state. Known: {', '.join(known)}.")


def nodes_of(root: Any) -> list[Any]:
    """Every node of a graph, breadth first, the root first."""
    nodes = [root]
    for node in nodes:  # grows while it is read
        nodes += [child for child in node.children if child not in nodes]
    return nodes


def objects_of(root: Any) -> Iterator[Any]:
    """Return the components of a scene, in the order of the graph."""
    return (entry for node in nodes_of(root) for entry in node.objects)


def attributes_of(entry: Any) -> dict[str, Any]:
    """Python's attributes alone; SOFA would look for a Data of that name."""
    return getattr(entry, "__dict__", {})


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
