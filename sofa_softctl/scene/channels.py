"""Channels of a recording: positions, actuators, controller outputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

CONTACTS_KEPT = 64
"""Contacts of a step that a channel holds; zeros where there are fewer."""


@dataclass(frozen=True)
class DataChannel:
    """One Data that is read after every step."""

    name: str
    """Path of the Data, such as 'trunk/tip/dofs.position'."""
    data: Any
    """The Data."""
    unit: str
    """Unit in words, such as 'length'."""
    shape: tuple[int, ...]
    """Shape of its value."""
    help: str
    """What it means."""

    def read(self) -> np.ndarray:
        """The present value, cut or filled with zeros to the channel's shape."""
        found: np.ndarray = np.asarray(self.data.value, dtype=float)
        if found.shape == self.shape:
            return found
        filled = np.zeros(self.shape)
        kept = min(len(found), len(filled))
        filled[:kept] = found[:kept].reshape(kept, *self.shape[1:])
        return filled


def channels_of(root: Any) -> list[DataChannel]:
    """Channels of a scene: positions of states, force and displacement of cables, controllers.

    A controller lists its own in the dict `recorded`, name of a Data -> (unit in words, meaning),
    and in `recorded_contacts` those for scenes that find contacts. Where the number of a Data's
    entries changes from step to step, a third value says how many are kept.
    """
    found: list[DataChannel] = []
    contacts = any(e.getClassName() == "CollisionPipeline" for e in root.objects)
    for node in nodes_of(root):
        for entry in node.objects:
            kind = entry.getClassName()
            if kind == "MechanicalObject":
                found.append(_channel(entry, "position", "length", "Position of each node"))
            elif kind.startswith("Cable") and all(map(entry.findData, ("force", "displacement"))):
                found.append(_channel(entry, "force", "lambda", "Multiplier, as SOFA has it"))
                found.append(_channel(entry, "displacement", "length", "Length pulled in"))
            else:
                found += _recorded(entry, contacts)
    return found


def own_state(node: Any) -> Any:
    """The MechanicalObject that the node itself holds, None when it has none."""
    return next((e for e in node.objects if e.getClassName() == "MechanicalObject"), None)


def nodes_of(root: Any) -> list[Any]:
    """Every node of a graph, breadth first, the root first."""
    nodes = [root]
    for node in nodes:  # grows while it is read
        nodes += [child for child in node.children if child not in nodes]
    return nodes


def _recorded(controller: Any, contacts: bool) -> list[DataChannel]:
    own, touching = (
        named if isinstance(named := getattr(type(controller), name, None), dict) else {}
        for name in ("recorded", "recorded_contacts")
    )
    found = []
    for name, (unit, help, *most) in (own | touching if contacts else own).items():
        channel = _channel(controller, name, unit, help)
        found.append(replace(channel, shape=(*most, *channel.shape[1:])) if most else channel)
    return found


def _channel(component: Any, name: str, unit: str, help: str) -> DataChannel:
    data = component.findData(name)
    path = f"{component.getPathName().lstrip('/')}.{name}"
    return DataChannel(path, data, unit, np.shape(data.value), help)
