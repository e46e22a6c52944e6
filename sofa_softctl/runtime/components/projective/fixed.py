"""Fixed and partially fixed nodes."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.projective.base import NodeConstraint
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Bool, Bools, Integers, Real


class FixedProjectiveConstraint(NodeConstraint):
    """Holds nodes: their rows of the system are identity and their velocity does not change.

    A held node that has a velocity keeps it under DefaultAnimationLoop, as in SOFA.
    """

    aliases = ("FixedConstraint",)

    indices = Integers([0], "Nodes that are held.")
    fixAll = Bool(False, "Hold all nodes.")
    activate_projectVelocity = Bool(False, "Also clear the velocity of held nodes.")
    showObject = Bool(True, "Draw the held nodes.")
    drawSize = Real(0.0, "Size of the drawn nodes.")

    def init(self) -> None:
        """Check the nodes."""
        self._seen: tuple[int, ...] = ()
        self.fixed()

    def fixed(self) -> np.ndarray:
        """See ProjectiveConstraint."""
        seen = tuple(data.getCounter() for data in self._sources())
        if seen != self._seen:
            nodes = self.nodes()
            self._mask = np.zeros((self.state.count, self.state.deriv_size), dtype=bool)
            self._mask[slice(None) if self.fixAll.get() else nodes] = self._directions()
            self._seen = tuple(data.getCounter() for data in self._sources())
        return self._mask

    def in_matrix(self, fixed: np.ndarray) -> np.ndarray:
        """See ProjectiveConstraint."""
        return fixed

    def check_differentiable(self) -> None:
        """See ProjectiveConstraint: what is held stays so."""

    def _sources(self) -> tuple[Data, ...]:
        return (self.indices, self.fixAll)

    def _directions(self) -> np.ndarray:
        return np.ones(self.state.deriv_size, dtype=bool)

    def project_velocity(self, velocity: np.ndarray) -> None:
        """See ProjectiveConstraint."""
        if self.activate_projectVelocity.get():
            velocity[self.fixed()] = 0.0


class PartialFixedProjectiveConstraint(FixedProjectiveConstraint):
    """Holds nodes in some directions."""

    aliases = ("PartialFixedConstraint",)

    fixedDirections = Bools(
        (3, 6, 1), [1, 1, 1], "Directions in which the nodes are held; six for bodies."
    )
    projectVelocity = Bool(False, "Also clear the velocity of held directions.")

    def _sources(self) -> tuple[Data, ...]:
        return (self.indices, self.fixAll, self.fixedDirections)

    def _directions(self) -> np.ndarray:
        given, width = self.fixedDirections.get(), self.state.deriv_size
        if self.fixedDirections.isSet() and len(given) != width:
            raise self.fault(
                f"has {len(given)} 'fixedDirections', but a node of {self.state.describe()} "
                f"({self.state.getTemplateName()}) moves in {width}."
            )
        return given if len(given) == width else np.ones(width, dtype=bool)

    def project_velocity(self, velocity: np.ndarray) -> None:
        """See ProjectiveConstraint."""
        if self.projectVelocity.get() or self.activate_projectVelocity.get():
            velocity[self.fixed()] = 0.0
