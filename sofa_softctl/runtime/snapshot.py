"""The whole state of a graph in memory, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.runtime.base import Base
from sofa_softctl.runtime.node import Node


def take(root: Node) -> dict[str, Any]:
    """Values of all Data, and what components carry besides."""
    values: dict[str, Any] = {}
    for node in root.walk():
        values[node.getPathName()] = _data_of(node)
        for component in node.objects:
            values[component.getPathName()] = (_data_of(component), component.snapshot())
    return values


def put_back(root: Node, values: dict[str, Any]) -> None:
    """Return to the values that `take` gave for this graph."""
    for node in root.walk():
        _restore(node, values[node.getPathName()])
        for component in node.objects:
            data, own = values[component.getPathName()]
            _restore(component, data)
            component.restore(own)


def _data_of(owner: Base) -> dict[str, Any]:
    return {
        name: value.copy() if isinstance(value, np.ndarray) else value
        for name, data in owner.data.items()
        if not data.hasParent() and not data.type.computed
        for value in (data.get(),)
    }


def _restore(owner: Base, values: dict[str, Any]) -> None:
    for name, value in values.items():
        data = owner.data[name]
        present = data.get()
        if isinstance(value, np.ndarray) and np.shape(present) == value.shape:
            if not np.array_equal(present, value):
                np.copyto(present, value)
                data.touch()
        elif isinstance(value, np.ndarray) or present != value:
            data.set(value.copy() if isinstance(value, np.ndarray) else value)
