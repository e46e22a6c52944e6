"""What of a scene is worth recording: positions, actuators, and what controllers found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

_OUTPUTS = {
    "effort": ("force", "Effort of each actuator"),
    "displacement": ("length", "Length pulled in of each cable"),
    "goal": ("length", "Goal of each effector"),
    "tip": ("length", "Position of each effector"),
    "error": ("length", "Distance of each effector to its goal"),
}
"""Numeric Data of an inverse controller, their units and meaning."""
_CONTACTS = {
    "contact_point": ("length", "Where each contact is"),
    "contact_force": ("force", "Force of each contact on the second body"),
    "contact_normal": ("force", "Normal force of each contact"),
    "contact_slide": ("length", "How far each contact slid in the step"),
    "contact_mode": ("", "0 inactive, 1 sticking, 2 sliding"),
}
"""Those with an entry for each contact."""
_SEARCH = {
    "gap": ("", "(objective - bound) / objective of the step; 0 without contacts"),
    "pieces": ("", "Pieces of the problem that were solved"),
}
"""Those about the search among the modes of contacts."""
CONTACTS_KEPT = 64
"""Contacts of a step that a channel holds; zeros where there are fewer."""


@dataclass(frozen=True)
class Channel:
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


def channels_of(root: Any) -> list[Channel]:
    """Channels of a scene: positions of states, force and displacement of cables, controllers.

    A controller of any other class lists its own in `recorded`: name of a Data -> (unit in words,
    meaning).
    """
    found: list[Channel] = []
    contacts = any(e.getClassName() == "CollisionPipeline" for e in root.objects)
    for node in nodes_of(root):
        for entry in node.objects:
            kind = entry.getClassName()
            if kind == "MechanicalObject":
                found.append(_channel(entry, "position", "length", "Position of each node"))
            elif kind.startswith("Cable"):
                found.append(_channel(entry, "force", "lambda", "Multiplier, as SOFA has it"))
                found.append(_channel(entry, "displacement", "length", "Length pulled in"))
            elif kind == "InverseController":
                found += [_channel(entry, name, *about) for name, about in _OUTPUTS.items()]
                if contacts:
                    found += [_contacts(entry, name, *about) for name, about in _CONTACTS.items()]
                    found += [_channel(entry, name, *about) for name, about in _SEARCH.items()]
            else:
                recorded = getattr(type(entry), "recorded", None)
                named = recorded if isinstance(recorded, dict) else {}
                found += [_channel(entry, name, *about) for name, about in named.items()]
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


def _contacts(component: Any, name: str, unit: str, help: str) -> Channel:
    channel = _channel(component, name, unit, help)
    columns = (3,) if name in ("contact_point", "contact_force") else ()
    return replace(channel, shape=(CONTACTS_KEPT, *columns))


def _channel(component: Any, name: str, unit: str, help: str) -> Channel:
    data = component.findData(name)
    path = f"{component.getPathName().lstrip('/')}.{name}"
    return Channel(path, data, unit, np.shape(data.value), help)
