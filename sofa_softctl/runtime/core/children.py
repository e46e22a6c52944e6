"""Lists of a node's children, objects and parents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sofa_softctl.runtime.core.base import Base

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
    """SofaPython3's link of a node to its objects of one kind: attributes are those of the first.

    As `node.mass.totalMass` or `node.topology.linkpath`.
    """

    def getLinkedBase(self, index: int = 0) -> Entry | None:
        """The object of that number; None when there is none."""
        return self[index] if index < len(self) else None

    def getLinkedPath(self, index: int = 0) -> str:
        """Where the object of that number is, such as '@/trunk/dofs'; '' when there is none."""
        return self[index].getLinkPath() if index < len(self) else ""

    def getSize(self) -> int:
        """How many objects there are."""
        return len(self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._first(name), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._first(name), name, value)

    def _first(self, name: str) -> Entry:
        if not self:
            raise AttributeError(f"The node has no such object, of which '{name}' is asked for.")
        return self[0]
