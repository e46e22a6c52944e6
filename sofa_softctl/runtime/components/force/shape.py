"""Base class of penalty forces that keep nodes outside, or inside, of a shape."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.force.blocks import BlockForceField
from sofa_softctl.runtime.core.data.types import Real
from sofa_softctl.runtime.helper.strictness import complain


class ShapeForceField(BlockForceField):
    """Forces on those nodes that are on the wrong side of a shape."""

    stiffness = Real(500.0, "Force by depth.", unit="force/length")
    damping = Real(5.0, "Damping: force against the velocity, by velocity and depth.")

    def init(self) -> None:
        """Declare a stiffness block of each node."""
        nodes = np.arange(self.state.count) * (self.state.deriv_size // 3)
        self.set_pairs(nodes, nodes)

    def points(self) -> np.ndarray:
        """Places of the nodes, shape (n, 3)."""
        return self.state._data["position"].get()[:, :3]

    def velocities(self) -> np.ndarray:
        """Velocities of these places, shape (n, 3)."""
        return self.state._data["velocity"].get()[:, :3]

    def apply(self, force: np.ndarray, nodes: np.ndarray, added: np.ndarray, K: np.ndarray) -> None:
        """Add forces (k, 3) to nodes (k,); their stiffness -df/dx has shape (k, 3, 3)."""
        force[nodes, :3] += added
        rows = nodes * (self.state.deriv_size // 3)
        self.set_blocks(rows, rows, K)

    def in_range(self, given: np.ndarray) -> np.ndarray:
        """Nodes from the first to the last of a localRange; all where it says -1."""
        count, (first, last) = self.state.count, given.astype(int)
        nodes = np.zeros(count, dtype=bool)
        nodes[max(first, 0) : last + 1 if 0 <= last < count - 1 else count] = True
        return nodes

    def not_negative(self, name: str, instead: float) -> None:
        """Replace a negative number, as SOFA does."""
        data = self._data[name]
        if data.get() < 0.0:
            complain(
                self,
                self.fault(
                    f"takes a '{name}' of 0 or more, got {data.get():g}; {instead:g} is taken."
                ),
            )
            data.set(instead)


LOCAL_RANGE = "First and last node that are looked at; all by default."


def outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a b^T of each row, shape (k, 3, 3)."""
    return a[:, :, None] * b[:, None, :]
