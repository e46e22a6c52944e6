"""Lists of a node's children, objects and parents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sofa_softctl.runtime.core.base import Base
from sofa_softctl.runtime.core.link import class_of

Item = TypeVar("Item", bound=Base)


class NodeIterator(list[Item]):
    """SofaPython3's NodeIterator: a list with items by number or by name."""

    def __init__(self, remove: Callable[[Item], object]) -> None:
        super().__init__()
        self._remove = remove

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        match = next((item for item in self if item.getName() == key), None)
        if match is None:
            names = ", ".join(item.getName() for item in self)
            raise IndexError(f"There is no '{key}' among: {names or 'nothing'}.")
        return match

    def __contains__(self, key: object) -> bool:
        if isinstance(key, str):
            return any(item.getName() == key for item in self)
        return super().__contains__(key)

    def at(self, index: int) -> Item:
        """Return the item of that number."""
        return list.__getitem__(self, index)

    def remove_at(self, index: int) -> None:
        """Remove the item of that number from the node."""
        self._remove(self.at(index))


class NodeLink(list[Item]):
    """SofaPython3's link of a node to its objects of one kind, with the attributes of one object.

    Examples: `node.mass.totalMass`, `node.topology.linkpath`. For links to one object the last
    object that was added counts, for others the first.
    """

    def __init__(
        self, node: Base, name: str, objects: list[Item], *, kind: str, help: str, single: bool
    ) -> None:
        super().__init__(objects)
        self.__dict__.update(
            _node=node, _name=name, _kind=kind, _help=help, _single=single, _persistent=False
        )

    def getName(self) -> str:
        """Return the name of the link, such as 'mass'."""
        return str(self.__dict__["_name"])

    def setName(self, name: str) -> None:
        """Rename it; its node still uses the old name, as in SOFA."""
        self.__dict__["_name"] = name

    def getHelp(self) -> str:
        """Return the help text."""
        return str(self.__dict__["_help"])

    def setHelp(self, help: str) -> None:
        """Replace the help text."""
        self.__dict__["_help"] = help

    def getPathName(self) -> str:
        """Return the path of the link, such as '/trunk.mass'."""
        return f"{self.getOwnerBase().getPathName()}.{self.getName()}"

    def getOwnerBase(self) -> Any:
        """Return the node of the link."""
        return self.__dict__["_node"]

    def isMultiLink(self) -> bool:
        """Return True if it may lead to several objects."""
        return not self.__dict__["_single"]

    def isPersistent(self) -> bool:
        """Return True if it is saved with the scene; the content of a node is saved separately."""
        return bool(self.__dict__["_persistent"])

    def setPersistent(self, persistent: bool) -> None:
        """Set whether it is saved with the scene."""
        self.__dict__["_persistent"] = persistent

    def isReadOnly(self) -> bool:
        """Return True if it is not saved with the scene, as in SOFA."""
        return not self.isPersistent()

    def getValueString(self) -> str:
        """Return the paths of all objects, separated by blanks."""
        return " ".join(item.getLinkPath() for item in self)

    def getValueTypeString(self) -> str:
        """Return SOFA's class of the objects."""
        return class_of(self.__dict__["_kind"])

    def getLinkedBase(self, index: int = 0) -> Item | None:
        """Return the object of that number, or None."""
        linked = self[::-1] if self.__dict__["_single"] else self
        return linked[index] if index < len(linked) else None

    def getLinkedPath(self, index: int = 0) -> str:
        """Return the path of the object of that number, such as '@/trunk/dofs', or ''."""
        linked = self.getLinkedBase(index)
        return "" if linked is None else linked.getLinkPath()

    def getSize(self) -> int:
        """Return the number of objects."""
        return len(self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._linked_object(name), name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a Data of the object."""
        setattr(self._linked_object(name), name, value)

    def _linked_object(self, name: str) -> Item:
        linked = self.getLinkedBase()
        if linked is None:
            raise AttributeError(
                f"Node '{self.__dict__['_node'].getPathName()}' has no object that its link "
                f"'{self.getName()}' leads to, so that there is no '{name}' of it. Add one first."
            )
        return linked
