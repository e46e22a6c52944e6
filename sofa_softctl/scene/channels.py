"""What of a scene is worth recording: positions, actuators, and what controllers found."""

from __future__ import annotations

from dataclasses import dataclass
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
        """The present value."""
        found: np.ndarray = np.asarray(self.data.value, dtype=float)
        return found


def channels_of(root: Any) -> list[Channel]:
    """Channels of a scene: positions of states, force and displacement of cables, controllers."""
    found: list[Channel] = []
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


def _channel(component: Any, name: str, unit: str, help: str) -> Channel:
    data = component.findData(name)
    path = f"{component.getPathName().lstrip('/')}.{name}"
    return Channel(path, data, unit, np.shape(data.value), help)
