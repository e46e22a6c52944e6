"""What masses without coupling between nodes share."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.runtime.roles import Mass, Pairs


class LumpedMass(Mass):
    """A diagonal mass matrix."""

    masses: np.ndarray
    """Mass of each node, shape (n, 1)."""

    def snapshot(self) -> dict[str, Any]:
        """See Component."""
        return {"masses": self.masses}  # never written in place after init

    def restore(self, snapshot: dict[str, Any]) -> None:
        """See Component."""
        self.masses = snapshot["masses"]

    def add_gravity(self, force: np.ndarray, gravity: np.ndarray) -> None:
        """See Mass."""
        force += self.masses * gravity

    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        """See Contribution."""
        out += (factor * self.masses) * v

    def pairs(self) -> Pairs:
        """See Contribution."""
        nodes = np.arange(len(self.masses))
        return nodes, nodes

    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        """See Contribution."""
        diagonal = factor * self.masses[:, 0]
        for i in range(3):
            values[slots, i, i] += diagonal
