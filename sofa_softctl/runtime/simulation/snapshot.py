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
class Part:
    """State of one node or component."""

    name: str
    """Class and path: what it must be in the graph to which the state returns."""
    data: dict[str, Any]
    """Its Data, copies; without those that others determine."""
    own: dict[str, Any]
    """What it carries from step to step besides."""
    attributes: dict[str, Any]
    """Of a controller of the scene's own that says nothing of its state: its attributes."""


Values = list[Part]
"""Of each node and component, in the order of the graph, also of those that are switched off."""


def take(root: Node) -> Values:
    """The present state."""
    return [
        Part(owner.describe(), _data_of(owner), _own_of(owner), _attributes_of(owner))
        for owner in _owners(root)
    ]


def put_back(root: Node, values: Values) -> None:
    """Return to the state that `take` gave for this graph.

    Raises:
        SceneError: the graph is another one; nothing is changed then.
    """
    owners = _owners(root)
    same = len(owners) == len(values) and all(
        owner.describe() == part.name and part.data.keys() <= owner._data.keys()
        for owner, part in zip(owners, values, strict=True)
    )
    if not same:
        raise SceneError(
            "The snapshot is of another scene, or objects were added or removed since it was taken."
        )
    for owner, part in zip(owners, values, strict=True):
        _restore(owner, part.data)
        _restore_own(owner, part)


def put_back_known(root: Node, values: Values) -> None:
    """Return what both graphs have, by class and path; the rest of this one stays as it is."""
    parts: dict[str, list[Part]] = {}
    for part in values:
        parts.setdefault(part.name, []).append(part)
    for owner in _owners(root):
        waiting = parts.get(owner.describe())
        if not waiting:
            continue
        part = waiting.pop(0)
        _restore(owner, {name: part.data[name] for name in part.data if name in owner._data})
        _restore_own(owner, part)


def _owners(root: Node) -> list[Base]:
    """Nodes and components, without the contacts of a step, which are the collision pipeline's."""
    return [
        owner
        for node in root.walk(everything=True)
        for owner in (node, *(entry for entry in node.objects if entry.category != "contact"))
    ]


def _own_of(owner: Base) -> dict[str, Any]:
    ready = isinstance(owner, Component) and (owner._initialised or owner.category == "controller")
    return owner.snapshot() if ready else {}  # type: ignore[attr-defined]


def _attributes_of(owner: Base) -> dict[str, Any]:
    if not isinstance(owner, Controller) or attributes.holds_own_state(owner, "snapshot"):
        return {}
    held = attributes.capture(owner)
    attributes.warn_unheld(owner, held)
    return held


def _restore_own(owner: Base, part: Part) -> None:
    if part.attributes:
        attributes.put_back(owner, part.attributes)
    if isinstance(owner, Component) and part.own:
        owner.restore(part.own)


def _data_of(owner: Base) -> dict[str, Any]:
    return {
        name: value.copy() if isinstance(value, np.ndarray) else value
        for name, data in owner._data.items()
        if not data.hasParent() and not data.type.computed
        for value in (data.get(),)
    }


def _restore(owner: Base, values: dict[str, Any]) -> None:
    known = owner._data
    for name, value in values.items():
        data = known[name]
        present = data.get()
        if present is value:
            continue
        if not isinstance(value, np.ndarray):
            if present != value:
                _replace(owner, data, value)
        elif isinstance(present, np.ndarray) and present.shape == value.shape:
            if present.tobytes() != value.tobytes():  # also distinguishes 0 from -0
                np.copyto(present, value)
                data.touch()
        else:
            _replace(owner, data, value.copy())


def _replace(owner: Base, data: Data, value: Any) -> None:
    data.set(value)
    if isinstance(owner, Node):
        owner.data_changed(data)  # what is switched on again must take part
