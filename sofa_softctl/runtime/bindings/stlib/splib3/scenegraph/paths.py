"""Paths such as 'arm/visual/OglModel.position'."""

from __future__ import annotations

from typing import Any


def find(node: Any, path: str) -> Any:
    """The node or object at '/root/arm/dofs', where `root` is the name of the given node.

    Returns:
        It, or None where there is none.
    """
    _, root, *steps = path.split("/")
    found = node if root == node.name.value else None
    for step in steps:
        if found is not None:
            found = found.getChild(step) or found.getObject(step)
    return found


def get(node: Any, path: str) -> Any:
    """The node, object or Data at 'arm/dofs' or 'arm/dofs.position', seen from a node.

    Raises:
        ValueError: the path leads nowhere, or up.
    """
    if path.startswith(("/", "../")):
        raise ValueError(f"{path} leads up; give a path from {node.getLinkPath()} downwards.")
    found = node
    for step in path.removeprefix("./").split("/"):
        name, _, data = step.partition(".")
        below = found.getChild(step) or found.getObject(name)
        if below is None:
            below = found.findData(name)
        elif data:
            below = below.findData(data)
        if below is None:
            raise ValueError(f"{node.getLinkPath()} has no {path}: there is no '{step}'.")
        found = below
    return found


def getLinkPath(node: Any, path: str) -> str:
    """What `get` finds, as a link."""
    link: str = get(node, path).getLinkPath()
    return link
