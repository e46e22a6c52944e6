"""Save and restore the state of a graph in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.core import attributes
from sofa_softctl.runtime.core.base import Base
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.core.scripted import Controller


@dataclass(frozen=True)
class ObjectState:
    """State of a node or component."""

    name: str
    """Class and path, which must be equal in the graph to which the state returns."""
    data: dict[str, Any]
    """Copies of its Data, except for computed and linked Data."""
    state: dict[str, Any]
    """Result of its `snapshot`: other state that persists over steps."""
    attributes: dict[str, Any]
    """Attributes of a controller of the scene without a `snapshot`."""


GraphState = list[ObjectState]
"""State of each node and component, in the order of the graph, also if it is switched off."""


def take_snapshot(root: Node) -> GraphState:
    """Return the present state."""
    return [
        ObjectState(owner.describe(), _data_of(owner), _state_of(owner), _attributes_of(owner))
        for owner in _owners(root)
    ]


def put_back(root: Node, values: GraphState) -> None:
    """Return to the result of `take_snapshot` for this graph.

    Raises:
        SceneError: It is of another graph; nothing is changed then.
    """
    owners = _owners(root)
    is_same = len(owners) == len(values) and all(
        owner.describe() == part.name and part.data.keys() <= owner._data.keys()
        for owner, part in zip(owners, values, strict=True)
    )
    if not is_same:
        raise SceneError(
            "The snapshot is of another scene, or objects were added or removed since it was taken."
        )
    for owner, part in zip(owners, values, strict=True):
        _restore_data(owner, part.data)
        _restore_component(owner, part)


def put_back_known(root: Node, values: GraphState) -> None:
    """Restore the common objects of both graphs, by class and path; others stay as they are."""
    parts: dict[str, list[ObjectState]] = {}
    for part in values:
        parts.setdefault(part.name, []).append(part)
    for owner in _owners(root):
        matches = parts.get(owner.describe())
        if not matches:
            continue
        part = matches.pop(0)
        _restore_data(owner, {name: part.data[name] for name in part.data if name in owner._data})
        _restore_component(owner, part)


def _owners(root: Node) -> list[Base]:
    """Return nodes and components, without contacts, which belong to the collision pipeline."""
    return [
        owner
        for node in root.walk(everything=True)
        for owner in (node, *(item for item in node.objects if item.category != "contact"))
    ]


def _state_of(owner: Base) -> dict[str, Any]:
    if not isinstance(owner, Component):
        return {}
    return owner.snapshot() if owner._initialised or owner.category == "controller" else {}


def _attributes_of(owner: Base) -> dict[str, Any]:
    if not isinstance(owner, Controller) or attributes.holds_own_state(owner, "snapshot"):
        return {}
    captured = attributes.capture(owner)
    attributes.warn_unheld(owner, captured)
    return captured


def _restore_component(owner: Base, part: ObjectState) -> None:
    if part.attributes:
        attributes.put_back(owner, part.attributes)
    if isinstance(owner, Component) and part.state:
        owner.restore(part.state)


def _data_of(owner: Base) -> dict[str, Any]:
    return {
        name: value.copy() if isinstance(value, np.ndarray) else value
        for name, data in owner._data.items()
        if not data.hasParent() and not data.type.computed
        for value in (data.get(),)
    }


def _restore_data(owner: Base, values: dict[str, Any]) -> None:
    for name, value in values.items():
        data = owner._data[name]
        present = data.get()
        if present is value:
            continue
        if not isinstance(value, np.ndarray):
            if present != value:
                _set_value(owner, data, value)
        elif isinstance(present, np.ndarray) and present.shape == value.shape:
            if present.tobytes() != value.tobytes():  # also distinguishes 0 from -0
                np.copyto(present, value)
                data.touch()
        else:
            _set_value(owner, data, value.copy())


def _set_value(owner: Base, data: Data, value: Any) -> None:
    data.set(value)
    if isinstance(owner, Node):
        owner.data_changed(data)  # a node that is switched on must take part
