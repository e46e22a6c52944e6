"""Where a path such as '@../loader.position' leads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sofa_softctl.runtime.core.base import Base
    from sofa_softctl.runtime.core.node import Node

_BESIDE = re.compile(r"\[(?P<places>-\d+)?\](?:\.(?P<data>\w+))?")


def follow(path: str, node: Node | None, *, data: bool = False, owner: Base | None = None) -> Any:
    """The object, node or (`data`) Data at the end of a path such as '@../loader.position'.

    A path that starts with neither '/' nor '.' is looked for in `node` and then in the nodes above
    it, as SOFA does; '@[-2]' is the second object before `owner` in its node, '@[]' is `owner`.
    None when it leads nowhere.
    """
    path = path.removeprefix("@").strip()
    if node is None:
        return None
    if path.startswith("["):
        return _beside(path, node, owner, data)
    found = _walk(path, node, data)
    if found is None and not path.startswith(("/", ".")) and node.parents:
        return follow(path, node.parents[0], data=data)
    return found


def _beside(path: str, node: Node, owner: Base | None, data: bool) -> Any:
    read = _BESIDE.fullmatch(path)
    if read is None or data != (read["data"] is not None):
        return None
    place = next((i for i, entry in enumerate(node.objects) if entry is owner), -1)
    place += int(read["places"] or 0)
    if place < 0:
        return None
    return node.objects[place].findData(read["data"]) if data else node.objects[place]


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


def explain(path: str, node: Node, *, data: bool = False) -> str:
    """For messages: at which step a path breaks, and what there is instead."""
    rest = path.removeprefix("@").strip()
    if rest.startswith("["):
        return (
            f"'[-1]' is the object before it in node '{node.getPathName()}', '[-2]' the one before "
            "that; as far as there are some."
        )
    current: Any = node.getRoot() if rest.startswith("/") else node
    steps = rest.split("/")
    wanted = ""
    if data:
        steps[-1], dot, wanted = steps[-1].rpartition(".")
        if not dot:
            return f"It names no Data: write '{path}.NAME'."
    for step in steps:
        found = _step(current, step)
        if found is None:
            return _explain_step(current, step)
        current = found
    return str(current.explain_data(wanted))


def _explain_step(current: Any, step: str) -> str:
    if not hasattr(current, "children"):
        return f"{current.describe()} holds no objects, so '{step}' cannot be in it."
    place = f"node '{current.getPathName()}'"
    if step == "..":
        return f"N{place[1:]} has no parent."
    names = [entry.getName() for entry in (*current.objects, *current.children)]
    return f"'{step}' is not in {place}. It holds: {', '.join(names) or 'nothing'}."


def _step(node: Any, name: str) -> Any:
    if node is None or not hasattr(node, "children"):
        return None
    if name in ("", "."):
        return node
    if name == "..":
        return node.parents[0] if node.parents else None
    return node.getChild(name, warning=False) or node.getObject(name, warning=False)
