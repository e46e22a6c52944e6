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
