"""DiagonalMass: mass lumped to nodes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sofa_softctl.runtime.components.mass.lumped import LumpedMass
from sofa_softctl.runtime.components.mass.topological import TopologicalMass
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Bool, Reals


class DiagonalMass(TopologicalMass, LumpedMass):
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
        elements, masses, _ = self.elements()
        self.masses = np.zeros((count, 1))
        for i in range(elements.shape[1]):
            np.add.at(self.masses[:, 0], elements[:, i], masses / elements.shape[1])
        given.set(self.masses[:, 0].copy())

    def data_changed(self, data: Data) -> None:
        """See TopologicalMass; masses of nodes that change in a run count at once too."""
        super().data_changed(data)
        if self._initialised and data is self.vertexMass and len(data.get()) == self.state.count:
            self.masses = data.get()[:, None].copy()
