"""Targets of paths such as '@../loader.position'."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sofa_softctl.runtime.core.base import Base
    from sofa_softctl.runtime.core.node import Node

_INDEX = re.compile(r"\[(?P<places>-\d+)?\](?:\.(?P<data>\w+))?")


def follow_path(
    path: str, node: Node | None, *, data: bool = False, owner: Base | None = None
) -> Any:
    """Return the object, node or (`data`) Data at a path such as '@../loader.position', or None.

    A path without '/' or '.' at its start is searched in `node` and then in the nodes above, as in
    SOFA; '@[-2]' is the second object before `owner` in its node, '@[]' is `owner`.
    """
    path = path.removeprefix("@").strip()
    if node is None:
        return None
    if path.startswith("["):
        return _follow_index(path, node, owner, data)
    target = _walk(path, node, data)
    if target is None and not path.startswith(("/", ".")) and node.parents:
        return follow_path(path, node.parents[0], data=data)
    return target


def _follow_index(path: str, node: Node, owner: Base | None, data: bool) -> Any:
    match = _INDEX.fullmatch(path)
    if match is None or data != (match["data"] is not None):
        return None
    index = next((i for i, item in enumerate(node.objects) if item is owner), -1)
    index += int(match["places"] or 0)
    if index < 0:
        return None
    return node.objects[index].findData(match["data"]) if data else node.objects[index]


def _walk(path: str, node: Node, data: bool) -> Any:
    *steps, last = path.split("/")
    current: Any = node.getRoot() if path.startswith("/") else node
    for step in steps:
        current = _step(current, step)
    name, dot, data_name = last.rpartition(".") if data else (last, "", "")
    if data and (not dot or last in ("..", ".")):
        return None
    target = current if name in ("", ".") else _step(current, name)
    return target.findData(data_name) if data and target is not None else target


def explain_path(path: str, node: Node, *, data: bool = False) -> str:
    """Explain at which step a path breaks, and list the names there."""
    rest = path.removeprefix("@").strip()
    if rest.startswith("["):
        return (
            f"'[-1]' is the object before it in node '{node.getPathName()}', '[-2]' the one before "
            "that; as far as there are some."
        )
    current: Any = node.getRoot() if rest.startswith("/") else node
    steps = rest.split("/")
    data_name = ""
    if data:
        steps[-1], dot, data_name = steps[-1].rpartition(".")
        if not dot:
            return f"It names no Data: write '{path}.NAME'."
    for step in steps:
        target = _step(current, step)
        if target is None:
            return _explain_step(current, step)
        current = target
    return str(current.explain_data(data_name))


def _explain_step(current: Any, step: str) -> str:
    if not hasattr(current, "children"):
        return f"{current.describe()} holds no objects, so '{step}' cannot be in it."
    node = f"node '{current.getPathName()}'"
    if step == "..":
        return f"N{node[1:]} has no parent."
    names = [item.getName() for item in (*current.objects, *current.children)]
    return f"'{step}' is not in {node}. It holds: {', '.join(names) or 'nothing'}."


def _step(node: Any, name: str) -> Any:
    if node is None or not hasattr(node, "children"):
        return None
    if name in ("", "."):
        return node
    if name == "..":
        return node.parents[0] if node.parents else None
    return node.getChild(name, warning=False) or node.getObject(name, warning=False)
