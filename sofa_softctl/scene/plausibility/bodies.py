"""The bodies of a scene: independent states, with what acts on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sofa_softctl.scene.body import box_size
from sofa_softctl.scene.channels import nodes_of, own_state


@dataclass(frozen=True)
class Body:
    """An independent state, with its node."""

    node: Any
    """Node of the state."""
    state: Any
    """Its MechanicalObject."""

    @cached_property
    def entries(self) -> list[Any]:
        """Components of the node and those below."""
        return [entry for node in nodes_of(self.node) for entry in node.objects]

    @cached_property
    def size(self) -> float:
        """Largest side of the box around it [length]."""
        return box_size(self.node)

    @property
    def count(self) -> int:
        """Number of its nodes."""
        return len(self.state.position.value)

    def having(self, name: str) -> list[Any]:
        """Components with a Data of that name."""
        return [entry for entry in self.entries if entry.findData(name) is not None]

    @property
    def elastic(self) -> bool:
        """Whether it has a material."""
        names = (entry.getClassName() for entry in self.entries)
        return bool(self.having("youngModulus")) or any("FEMForceField" in name for name in names)

    @property
    def masses(self) -> list[Any]:
        """Masses."""
        return [entry for entry in self.entries if entry.getClassName().endswith("Mass")]


def bodies_of(root: Any) -> list[Body]:
    """Bodies of a scene, in the order of the graph; states without nodes are none."""
    return [
        Body(node, state)
        for node in nodes_of(root)
        if (state := own_state(node)) is not None
        and node.getMechanicalMapping() is None
        and len(state.position.value)
    ]


def gravity_of(root: Any) -> float:
    """Size of the scene's gravity [length/time^2]."""
    return float(np.linalg.norm(root.gravity.value))
