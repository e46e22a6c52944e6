"""Nodes of a scene graph, their states, paths and objects, on both backends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.backend.backend import find_backend


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
