"""Classes whose objects stand for a node: what they have not, the node has."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from typing import Any


class SofaPrefab:
    """Decorator of a class that makes a node and keeps it as `self.node`.

    An object of it also answers for its node: children, objects, Data and methods. The node gets
    Data that say where the class comes from.
    """

    def __init__(self, cls: Any) -> None:
        self.cls = cls
        caller = sys._getframe(1)
        self.definedloc = (caller.f_code.co_filename, caller.f_lineno)
        functools.update_wrapper(self, cls)
        if "__getattr__" not in vars(cls):
            cls.__getattr__ = _of_node

    def __call__(self, *args: Any, **values: Any) -> Any:
        """Make an object of the class."""
        made = self.cls(*args, **values)
        caller = sys._getframe(1)
        module = sys.modules.get(self.cls.__module__)
        folder = os.path.dirname(os.path.abspath(getattr(module, "__file__", None) or "."))
        for name, value in {
            "Prefab type": self.cls.__name__,
            "modulepath": folder,
            "Defined in": self.definedloc,
            "Instantiated in": (caller.f_code.co_filename, caller.f_lineno),
            "Help": inspect.getdoc(made),
        }.items():
            made.node.addData(name=name, group="Infos", help="", type="string", value=str(value))
        return made

    def __getattr__(self, name: str) -> Any:
        if name == "cls":
            raise AttributeError(name)
        return getattr(self.cls, name)


class SofaObject:
    """A new child of a node, as `self.node`; answers for it."""

    def __init__(self, node: Any, name: str) -> None:
        self.node = node.addChild(name)

    def __getattr__(self, name: str) -> Any:
        return _of_node(self, name)


def _of_node(made: Any, name: str) -> Any:
    if name == "node":  # it has none yet
        raise AttributeError(name)
    return getattr(made.node, name)
