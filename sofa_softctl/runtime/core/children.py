"""Lists of a node's children, objects and parents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sofa_softctl.runtime.core.base import Base
from sofa_softctl.runtime.core.link import class_of

Entry = TypeVar("Entry", bound=Base)


class NodeIterator(list[Entry]):
    """SofaPython3's NodeIterator: a list whose entries are found by number or by name."""

    def __init__(self, remove: Callable[[Entry], object]) -> None:
        super().__init__()
        self._remove = remove

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        found = next((entry for entry in self if entry.getName() == key), None)
        if found is None:
            names = ", ".join(entry.getName() for entry in self)
            raise IndexError(f"There is no '{key}' among: {names or 'nothing'}.")
        return found

    def __contains__(self, key: object) -> bool:
        if isinstance(key, str):
            return any(entry.getName() == key for entry in self)
        return super().__contains__(key)

    def at(self, index: int) -> Entry:
        """The entry of that number."""
        return list.__getitem__(self, index)

    def remove_at(self, index: int) -> None:
        """Take the entry of that number out of the node."""
        self._remove(self.at(index))


class NodeLink(list[Entry]):
    """SofaPython3's link of a node to its objects of one kind: attributes are those of an object.

    As `node.mass.totalMass` or `node.topology.linkpath`. Of links to one object that is the last
    one that was added, of others the first.
    """

    def __init__(
        self, node: Base, name: str, objects: list[Entry], *, kind: str, help: str, single: bool
    ) -> None:
        super().__init__(objects)
        self.__dict__.update(
            _node=node, _name=name, _kind=kind, _help=help, _single=single, _persistent=False
        )

    def getName(self) -> str:
        """The link's own name, such as 'mass'."""
        return str(self.__dict__["_name"])

    def setName(self, name: str) -> None:
        """Rename it; its node still knows it by the old name, as in SOFA."""
        self.__dict__["_name"] = name

    def getHelp(self) -> str:
        """Help text."""
        return str(self.__dict__["_help"])

    def setHelp(self, help: str) -> None:
        """Replace the help text."""
        self.__dict__["_help"] = help

    def getPathName(self) -> str:
        """Where the link is, such as '/trunk.mass'."""
        return f"{self.getOwnerBase().getPathName()}.{self.getName()}"

    def getOwnerBase(self) -> Any:
        """The node whose link it is."""
        return self.__dict__["_node"]

    def isMultiLink(self) -> bool:
        """Whether it may lead to several objects."""
        return not self.__dict__["_single"]

    def isPersistent(self) -> bool:
        """Whether it is saved with the scene: what a node holds is saved by itself."""
        return bool(self.__dict__["_persistent"])

    def setPersistent(self, persistent: bool) -> None:
        """Choose whether it is saved with the scene."""
        self.__dict__["_persistent"] = persistent

    def isReadOnly(self) -> bool:
        """Whether it is not saved with the scene, as in SOFA."""
        return not self.isPersistent()

    def getValueString(self) -> str:
        """The paths of all objects, separated by blanks."""
        return " ".join(entry.getLinkPath() for entry in self)

    def getValueTypeString(self) -> str:
        """SOFA's class of the objects."""
        return class_of(self.__dict__["_kind"])

    def getLinkedBase(self, index: int = 0) -> Entry | None:
        """The object of that number; None when there is none."""
        linked = self[::-1] if self.__dict__["_single"] else self
        return linked[index] if index < len(linked) else None

    def getLinkedPath(self, index: int = 0) -> str:
        """Where the object of that number is, such as '@/trunk/dofs'; '' when there is none."""
        linked = self.getLinkedBase(index)
        return "" if linked is None else linked.getLinkPath()

    def getSize(self) -> int:
        """How many objects there are."""
        return len(self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._linked(name), name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a Data of the object."""
        setattr(self._linked(name), name, value)

    def _linked(self, name: str) -> Entry:
        linked = self.getLinkedBase()
        if linked is None:
            raise AttributeError(
                f"Node '{self.__dict__['_node'].getPathName()}' has no object that its link "
                f"'{self.getName()}' leads to, so that there is no '{name}' of it. Add one first."
            )
        return linked
