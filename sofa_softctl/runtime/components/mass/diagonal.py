"""Mass lumped to the nodes of the elements."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sofa_softctl.runtime.components.mass.topological import TopologicalMass
from sofa_softctl.runtime.data_types import Bool, Reals
from sofa_softctl.runtime.roles import Pairs


class DiagonalMass(TopologicalMass):
    """Each element gives equal shares of its mass to its nodes; sizes are those at rest."""

    vertexMass = Reals([], "Mass of each node.", unit="mass", aliases=("mass",))
    computeMassOnRest = Bool(True, "Take the elements' sizes from the rest position.")

    on_rest: ClassVar[bool] = True

    def init(self) -> None:
        """Distribute the mass."""
        count = self.state.count
        given = self.vertexMass
        if given.isSet() and len(given.get()) == count:
            self.masses = given.get()[:, None].copy()
            return
        elements, masses = self.elements()
        self.masses = np.zeros((count, 1))
        for i in range(elements.shape[1]):
            np.add.at(self.masses[:, 0], elements[:, i], masses / elements.shape[1])
        given.set(self.masses[:, 0].copy())

    def add_gravity(self, force: np.ndarray, gravity: np.ndarray) -> None:
        """See Mass."""
        force += self.masses * gravity

    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        """See Mass."""
        out += (factor * self.masses) * v

    def pairs(self) -> Pairs:
        """See Mass."""
        nodes = np.arange(len(self.masses))
        return nodes, nodes

    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        """See Mass."""
        diagonal = factor * self.masses[:, 0]
        for i in range(3):
            values[slots, i, i] += diagonal
