"""Controller whose method runs at present, and the Data that it has read."""

from __future__ import annotations

from typing import Any, ClassVar


class Handling:
    """Context of a controller's method that runs at present, in any scene."""

    controller: Any = None
    event: str = ""
    read: ClassVar[set[Any]] = set()
    """Data that the method has read."""

    def __init__(self, controller: Any, event: str) -> None:
        read: set[Any] = set()
        self._new = (controller, event, read)

    def __enter__(self) -> None:
        self._old = (Handling.controller, Handling.event, Handling.read)
        Handling.controller, Handling.event, Handling.read = self._new

    def __exit__(self, *exception: object) -> None:
        Handling.controller, Handling.event, Handling.read = self._old


def get_noted(data: Any, *, to_write: bool = False) -> Any:
    """Return the value of a Data that a script reads, or writes into, and record it."""
    if Handling.controller is not None:
        Handling.read.add(data)
        data.is_read |= not to_write
    return data.get()
