"""Links between objects, such as `topology="@topology"`, and how a path is followed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from sofa_softctl.errors import LinkError
from sofa_softctl.runtime.where import Line, describe, scene_line

if TYPE_CHECKING:
    from sofa_softctl.runtime.base import Base
    from sofa_softctl.runtime.node import Node


class LinkType:
    """Declaration of one link to another object, as `Real` is of one number."""

    def __init__(self, help: str, *, aliases: Sequence[str] = ()) -> None:
        self.help = help
        self.aliases = tuple(aliases)
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> LinkType: ...
    @overload
    def __get__(self, instance: Any, owner: type) -> Link: ...
    def __get__(self, instance: Any, owner: type) -> LinkType | Link:
        return self if instance is None else instance.links[self.name]

    def __set__(self, instance: Any, value: Any) -> None:
        instance.links[self.name].assign(value, scene_line())


class Link:
    """One link of one object: a path that is followed when somebody asks."""

    __slots__ = ("owner", "path", "target", "type", "where")

    def __init__(self, type: LinkType, owner: Base) -> None:
        self.type = type
        self.owner = owner
        self.path = ""
        self.target: Any = None
        self.where: Line | None = None

    def assign(self, value: Any, where: Line | None) -> None:
        """Take over what a scene gave: a path or the object itself."""
        self.where = where
        if isinstance(value, str):
            self.path, self.target = value, None
        else:
            self.path, self.target = value.getLinkPath(), value

    def getName(self) -> str:
        """The name, as SOFA writes it."""
        return self.type.name

    def getHelp(self) -> str:
        """What it means."""
        return self.type.help

    def getLinkedPath(self) -> str:
        """The path as the scene gave it, empty when it gave none."""
        return self.path

    def getLinkedBase(self, _index: int = 0) -> Any:
        """The object at its end; None when no path was given, LinkError when it leads nowhere."""
        if self.target is None and self.path:
            self.target = self.owner.resolve(self.path)
            if self.target is None:
                raise LinkError(
                    f"{describe(self.where)}: '{self.type.name}' of {self.owner.describe()} links "
                    f"to '{self.path}', which does not exist. {self.owner.explain_link(self.path)}"
                )
        return self.target

    def setLinkedBase(self, target: Any) -> None:
        """Link to that object."""
        self.assign(target, scene_line())

    def __repr__(self) -> str:
        return f"Link {self.type.name} -> '{self.path}'"


def follow(path: str, node: Node | None, *, data: bool = False) -> Any:
    """The object, node or (`data`) Data at the end of a path such as '@../loader.position'.

    A path is relative to `node` unless it starts with '/'. None when it leads nowhere.
    """
    path = path.removeprefix("@").strip()
    if node is None:
        return None
    if path.startswith("/"):
        node = node.getRoot()
    *steps, last = path.split("/")
    current: Any = node
    for step in steps:
        current = _step(current, step)
        if current is None:
            return None
    name, dot, data_name = last.rpartition(".") if data else (last, "", "")
    if data and last in ("..", "."):
        return None
    if data and not dot:
        return None
    target = current if name in ("", ".") else _step(current, name)
    if data and target is not None:
        return target.findData(data_name)
    return target


def _step(node: Any, name: str) -> Any:
    if node is None or not hasattr(node, "children"):
        return None
    if name in ("", "."):
        return node
    if name == "..":
        return node.parents[0] if node.parents else None
    return node.getObject(name, warning=False) or node.getChild(name, warning=False)
