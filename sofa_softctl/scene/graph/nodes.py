"""Nodes of a scene graph, their states, paths and objects, and the bodies that they belong to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.errors import SceneError
from sofa_softctl.scene.backend.backend import find_backend

_KEY = "_softctl_without_devices"
_HEAR_KEYS = ("AnimationEditor", "MechanicalStateController")
"""Components, in addition to controllers in Python, that react to keys."""


def keep_devices_closed(root: Any) -> None:
    """Forbid the controllers of a scene to open devices: it is a copy, or only measured."""
    root.__dict__[_KEY] = True


def devices_stay_closed(root: Any) -> bool:
    """Return True if controllers must not open devices; valid before the first step."""
    return bool(getattr(root, "__dict__", {}).get(_KEY))


def path_of(item: Any, holder: Any = None) -> str:
    """Return the unique path of a node or component, without the first '/'.

    Of siblings with one name, as SOFA allows, the second is `name#2`, the third `name#3`; nodes
    without a name are `#1`, `#2`.

    Args:
        item: The node or component.
        holder: Node of a component whose node SOFA's Python does not know.
    """
    core: Any = find_backend().Sofa.Core
    is_node = isinstance(item, core.Node)
    if holder is None:
        holder = next(iter(item.parents), None) if is_node else item.getContext()
    if holder is None:  # the root, or an item outside every graph
        return "" if is_node else str(item.getPathName().lstrip("/"))
    name = str(item.getName())
    siblings = holder.children if is_node else holder.objects
    namesakes = [sibling for sibling in siblings if sibling.getName() == name]
    number = namesakes.index(item) if len(namesakes) > 1 and item in namesakes else 0
    if number or not name:
        name += f"#{number + 1}"
    above = path_of(holder)
    return f"{above}/{name}" if above else name


def own_state(node: Any) -> Any:
    """Return the MechanicalObject in the node itself, or None."""
    return next((e for e in node.objects if e.getClassName() == "MechanicalObject"), None)


def state_at(root: Any, path: str) -> Any:
    """Return the state, inherited or not, of the node at a path such as '/arm/beam'.

    Raises:
        SceneError: no such node, or it has no state.
    """
    for node in nodes_of(root):
        if node.getPathName() == path and (state := node.getMechanicalState()) is not None:
            return state
    valid_paths = [
        node.getPathName() for node in nodes_of(root) if node.getMechanicalState() is not None
    ]
    raise SceneError(f"No node '{path}' with a state. Known: {', '.join(valid_paths)}.")


def nodes_of(root: Any) -> list[Any]:
    """Return the nodes of a graph, breadth first, with the root first."""
    nodes = [root]
    for node in nodes:  # grows while it is read
        nodes += [child for child in node.children if child not in nodes]
    return nodes


def objects_of(root: Any) -> Iterator[Any]:
    """Return the components of a scene, in the order of the graph."""
    return (component for node in nodes_of(root) for component in node.objects)


def component_at(root: Any, path: str) -> Any:
    """Return the component or node at a path such as '/trunk/long_up/cable', '/trunk' or '/'.

    Raises:
        SceneError: There is nothing at the path.
    """
    nodes = nodes_of(root)
    items = [*nodes, *(component for node in nodes for component in node.objects)]
    items_by_path = {item.getPathName(): item for item in items}
    if path not in items_by_path:
        raise SceneError(
            f"There is no component or node '{path}'.{did_you_mean(path, items_by_path)} Paths "
            "begin with '/', such as '/trunk/tip/dofs'."
        )
    return items_by_path[path]


def data_at(root: Any, path: str) -> Any:
    """Return the Data at a path such as '/trunk/tip/dofs.position' or '/.gravity'.

    Raises:
        SceneError: The component, the node or the Data is missing.
    """
    owner, dot, name = path.rpartition(".")
    if not dot:
        raise SceneError(
            f"'{path}' has no Data: append its name, as in '/trunk/tip/dofs.position'."
        )
    data = component_at(root, owner or path).findData(name)
    if data is None:
        raise SceneError(f"'{owner}' has no Data '{name}'.")
    return data


def attributes_of(item: Any) -> dict[str, Any]:
    """Return the Python attributes without SOFA's search for a Data of the same name."""
    return getattr(item, "__dict__", {})


def body_of(node: Any) -> Any:
    """Return the highest node with a state among a node and its ancestors, or None."""
    body = None
    while node is not None:
        if own_state(node) is not None:
            body = node
        parents = list(node.parents)
        node = parents[0] if parents else None
    return body


def body_size(node: Any) -> float:
    """Return the largest side of the box around the present body of a node [length].

    The body is `body_of` the node: all points of all states there and below. For a single point,
    the box surrounds the whole scene.

    Args:
        node: A node of an initialised scene graph.
    """
    body = body_of(node)
    size = 0.0 if body is None else box_size(body)
    return size if size > 0.0 else box_size(root_of(node))


def root_of(node: Any) -> Any:
    """Return the root of a node's graph."""
    while parents := list(node.parents):
        node = parents[0]
    return node


def box_size(node: Any) -> float:
    """Return the largest side of `box_of` a node [length]."""
    return float(np.ptp(box_of(node), axis=0).max())


def box_of(node: Any) -> np.ndarray:
    """Return the bounds of all points in a node and below, or zeros [length], shape (2, 3)."""
    points = [
        np.asarray(state.position.value)[:, :3]
        for child in nodes_of(node)
        if (state := own_state(child)) is not None and np.shape(state.position.value)[1] >= 3
    ]
    x = np.concatenate([np.empty((0, 3)), *points])
    return np.array([x.min(axis=0), x.max(axis=0)]) if len(x) else np.zeros((2, 3))


def elements_of(topology: Any, kind: str) -> np.ndarray:
    """Return the elements of a kind, shape (n, width); n = 0 if there are none."""
    data = topology.findData(kind)
    width = {"triangles": 3, "hexahedra": 8}.get(kind, 4)
    is_absent = data is None or isinstance(data.value, bool)  # exporters have flags so named
    return np.array([] if is_absent else data.value, dtype=int).reshape(-1, width)


def cable_components(nodes: list[Any]) -> list[Any]:
    """Return the cables in some nodes."""
    components = (component for node in nodes for component in node.objects)
    return [
        component
        for component in components
        if component.getClassName().startswith("Cable")
        and all(map(component.findData, ("indices", "pullPoint", "hasPullPoint")))
    ]


def stiffness_of(component: Any) -> float:
    """Return the largest Young's modulus of the body of a component, or 0 [pressure]."""
    body = body_of(component.getContext())
    fields = [] if body is None else [e for e in body.objects if e.findData("youngModulus")]
    return max((float(np.max(e.youngModulus.value, initial=0.0)) for e in fields), default=0.0)


def section_of(component: Any) -> float:
    """Return the smallest cross-section of the box around the body of a component [length^2].

    The box is taken at rest; for nodes on a line, it is the present box with the skin.
    """
    body = body_of(component.getContext())
    if body is None:
        return 0.0
    rest = np.asarray(own_state(body).rest_position.value)
    boxes = [np.ptp(rest[:, :3], axis=0)] if rest.ndim == 2 and len(rest) else []
    sides = next(filter(np.all, boxes), np.ptp(box_of(body), axis=0))
    lower, middle = np.sort(sides)[:2]
    return float(lower) * float(middle)  # infinite after divergence


def controllers_of(Sofa: Any, root: Any) -> list[Any]:
    """Return the Python controllers of a graph, in its order, without the phase listener."""
    kind = Sofa.Core.Controller
    return [
        component
        for node in nodes_of(root)
        for component in node.objects
        if isinstance(component, kind) and type(component).__name__ != "PhaseListener"
    ]


def key_hearers(root: Any) -> list[Any]:
    """Return the controllers and components of a scene that react to keys."""
    components = (component for node in nodes_of(root) for component in node.objects)
    return [
        *filter(_hears_keys, controllers_of(find_backend().Sofa, root)),
        *(component for component in components if component.getClassName() in _HEAR_KEYS),
    ]


def _hears_keys(controller: Any) -> bool:
    """Return True if a controller does something when a key is pressed."""
    plain = find_backend().Sofa.Core.Controller
    return any(
        getattr(type(controller), name, None) is not getattr(plain, name, None)
        or name in vars(controller)
        for name in ("onKeypressedEvent", "onEvent")
    )
