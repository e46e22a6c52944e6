"""The whole state of a graph in memory, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.runtime.base import Base
from sofa_softctl.runtime.component import Component
from sofa_softctl.runtime.node import Node

Values = list[tuple[dict[str, Any], dict[str, Any]]]
"""Of each node and component, in the order of the graph: its Data, and what it carries besides."""


def take(root: Node) -> Values:
    """The present state."""
    return [(_data_of(owner), _own_of(owner)) for owner in _owners(root)]


def put_back(root: Node, values: Values) -> None:
    """Return to the state that `take` gave for this graph."""
    for owner, (data, own) in zip(_owners(root), values, strict=True):
        _restore(owner, data)
        if isinstance(owner, Component):
            owner.restore(own)


def _owners(root: Node) -> list[Base]:
    return [owner for node in root.walk() for owner in (node, *node.objects)]


def _own_of(owner: Base) -> dict[str, Any]:
    return owner.snapshot() if isinstance(owner, Component) else {}


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
