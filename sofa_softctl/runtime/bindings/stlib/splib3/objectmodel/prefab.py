"""Classes whose objects represent a node and forward missing attributes to it."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from typing import Any


class SofaPrefab:
    """Decorator of a class that creates a node, `self.node`.

    Its objects also have the attributes of the node: children, objects, Data and methods. The node
    gets Data about the origin of the class.
    """

    def __init__(self, cls: Any) -> None:
        self.cls = cls
        caller = sys._getframe(1)
        self.definedloc = (caller.f_code.co_filename, caller.f_lineno)
        functools.update_wrapper(self, cls)
        if "__getattr__" not in vars(cls):
            cls.__getattr__ = _node_attribute

    def __call__(self, *args: Any, **values: Any) -> Any:
        """Create an object of the class."""
        prefab = self.cls(*args, **values)
        caller = sys._getframe(1)
        module = sys.modules.get(self.cls.__module__)
        folder = os.path.dirname(os.path.abspath(getattr(module, "__file__", None) or "."))
        for name, value in {
            "Prefab type": self.cls.__name__,
            "modulepath": folder,
            "Defined in": self.definedloc,
            "Instantiated in": (caller.f_code.co_filename, caller.f_lineno),
            "Help": inspect.getdoc(prefab),
        }.items():
            prefab.node.addData(name=name, group="Infos", help="", type="string", value=str(value))
        return prefab

    def __getattr__(self, name: str) -> Any:
        if name == "cls":
            raise AttributeError(name)
        return getattr(self.cls, name)


class SofaObject:
    """New child `self.node` of a node, with the attributes of that child."""

    def __init__(self, node: Any, name: str) -> None:
        self.node = node.addChild(name)

    def __getattr__(self, name: str) -> Any:
        return _node_attribute(self, name)


def _node_attribute(prefab: Any, name: str) -> Any:
    if name == "node":  # it has no node yet
        raise AttributeError(name)
    return getattr(prefab.node, name)
