"""A node whose objects are changed while they are added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Wrapper:
    """A node that asks a function about every object that is added in it or below.

    Args:
        node: The node; for all else the wrapper is as the node.
        attachedFunction: Called with node, class, `datacache` and Data; returns class and Data to
            take instead, or None to take them as they are.
        datacache: Whatever the function wants.
    """

    def __init__(self, node: Any, attachedFunction: Callable[..., Any], datacache: Any) -> None:
        self.node = node
        self.attachedFunction = attachedFunction
        self.datacache = datacache

    def addObject(self, type: Any, **values: Any) -> Any:
        """Add an object as the function says."""
        answer = self.attachedFunction(self.node, type, self.datacache, values)
        if answer is None:
            return self.node.addObject(type, **values)
        kind, values = answer
        return self.node.addObject(kind, **values)

    def addChild(self, name: Any) -> Wrapper:
        """Add a child, which asks the function too."""
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
