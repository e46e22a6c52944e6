"""Paths such as 'arm/visual/OglModel.position'."""

from __future__ import annotations

from typing import Any


def find(node: Any, path: str) -> Any:
    """Return the node or object at '/root/arm/dofs', or None; `root` is the name of `node`."""
    _, root, *steps = path.split("/")
    match = node if root == node.name.value else None
    for step in steps:
        if match is not None:
            match = match.getChild(step) or match.getObject(step)
    return match


def get(node: Any, path: str) -> Any:
    """Return the node, object or Data at 'arm/dofs' or 'arm/dofs.position', seen from a node.

    Raises:
        ValueError: There is nothing at the path, or it leads up.
    """
    if path.startswith(("/", "../")):
        raise ValueError(f"{path} leads up; give a path from {node.getLinkPath()} downwards.")
    match = node
    for step in path.removeprefix("./").split("/"):
        name, _, data = step.partition(".")
        below = match.getChild(step) or match.getObject(name)
        if below is None:
            below = match.findData(name)
        elif data:
            below = below.findData(data)
        if below is None:
            raise ValueError(f"{node.getLinkPath()} has no {path}: there is no '{step}'.")
        match = below
    return match


def getLinkPath(node: Any, path: str) -> str:
    """Return a link to the result of `get`."""
    link: str = get(node, path).getLinkPath()
    return link
