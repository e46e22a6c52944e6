"""Node whose objects are changed when they are added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Wrapper:
    """Node that calls a function for every object that is added to it or below.

    Args:
        node: Node; all other attributes of the wrapper are the node's.
        attachedFunction: Called with node, class, `datacache` and Data; returns another class and
            Data, or None to leave them.
        datacache: Any value for the function.
    """

    def __init__(self, node: Any, attachedFunction: Callable[..., Any], datacache: Any) -> None:
        self.node = node
        self.attachedFunction = attachedFunction
        self.datacache = datacache

    def addObject(self, type: Any, **values: Any) -> Any:
        """Add an object after the function has changed it."""
        change = self.attachedFunction(self.node, type, self.datacache, values)
        if change is None:
            return self.node.addObject(type, **values)
        kind, values = change
        return self.node.addObject(kind, **values)

    def addChild(self, name: Any) -> Wrapper:
        """Add a child, which calls the function too."""
        return Wrapper(self.node.addChild(name), self.attachedFunction, self.datacache)

    def createObject(self, type: Any, **values: Any) -> Any:
        """Old name of addObject."""
        return self.addObject(type, **values)

    def createChild(self, type: Any, **values: Any) -> Wrapper:
        """Old name of addChild."""
        return self.addChild(type)

    def __getattr__(self, name: str) -> Any:
        if name == "node":
            raise AttributeError(name)
        return getattr(self.node, name)
