"""ConstantForceField: forces that do not change."""

from __future__ import annotations

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.behavior.step_term import ConstantStiffnessTerm, StepTerm
from sofa_softctl.runtime.components.force.without_stiffness import ForceWithoutStiffness
from sofa_softctl.runtime.core.data.types import Bool, Color, Deriv, Derivs, Integers, Real
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.strictness import complain


class ConstantForceField(ForceWithoutStiffness):
    """The same forces in every step, on `indices` or on all nodes.

    `forces` holds one for each node, or one that all get; without it the nodes share `totalForce`
    equally. With several `forces`, not as many as there are nodes, nothing acts, as in SOFA.
    """

    indices = Integers([], "Nodes on which forces act; all when empty.")
    indexFromEnd = Bool(False, "Count `indices` from the last node.")
    forces = Derivs([], "Force on each node, or one for all.", unit="force")
    totalForce = Deriv("Force that the nodes share.", unit="force")
    showArrowSize = Real(0.0, "Size of the drawn arrows.")
    showColor = Color([0.2, 0.9, 0.3, 1.0], "Color of the drawn arrows.")
    topology = LinkType("Unused: the mesh does not change.")

    def init(self) -> None:
        """Distribute the force.

        Raises:
            SceneError: no force was given, or a node does not exist.
        """
        if not self.indices.isSet() or not len(self.indices.get()):
            self.indices.set(np.arange(self.state.count))
        forces, total = self.forces, self.totalForce
        if not (forces.isSet() or total.isSet()):
            complain(self, self.fault("has no force: give 'forces' or 'totalForce'."))
        elif forces.isSet() and total.isSet():
            problem = "has both 'forces' and 'totalForce'; 'forces' counts. Give only one of them."
            complain(self, self.fault(problem))
        self._by_total = not forces.isSet()
        self._seen = (-1, -1, -1)
        self._distribute()

    def _distribute(self) -> None:
        """Forces of each node, after a Data changed."""
        sources = (self.indices, self.forces, self.totalForce)
        if tuple(data.getCounter() for data in sources) == self._seen:
            return
        self._nodes = self.checked(self.indices.get())
        if self.indexFromEnd.get():
            self._nodes = self.state.count - 1 - self._nodes
        count, given = len(self._nodes), self.forces.get()
        if self._by_total:
            share = self.totalForce.get() / max(count, 1)
            self.forces.set(np.tile(share, (count, 1)))
        else:
            if len(given) not in (1, count):
                complain(self, self._mismatch(len(given), count))
                self._nodes = self._nodes[:0]
                given = given[:0]
            elif len(given) == 1:
                given = np.tile(given, (count, 1))
            self.forces.set(given)
            self.totalForce.set(given.sum(axis=0))
        self._seen = tuple(data.getCounter() for data in sources)  # type: ignore[assignment]

    def _mismatch(self, given: int, wanted: int) -> SceneError:
        return self.fault(
            f"has {given} 'forces' for {wanted} nodes, so that none acts: give one for each, or "
            "one for all."
        )

    def add_force(self, force: np.ndarray) -> None:
        """See ForceField."""
        self._distribute()
        np.add.at(force, self._nodes, self.forces.get())

    def check_differentiable(self) -> None:
        """See ForceField: the stiffness is zero."""

    def step_term(self) -> StepTerm:
        """See ForceField."""
        return ConstantStiffnessTerm(self.add_product)
