"""Role of a cable in derivatives and equilibria."""

from __future__ import annotations

from sofa_softctl.runtime.behavior.constraint import LagrangianConstraint
from sofa_softctl.runtime.core.data.types import Bool, Integers, Real, Vector


class Cable(LagrangianConstraint):
    """A constraint along straight segments from point to point of a state: one row.

    delta = L0 - L, positive when the cable is pulled in; lambda > 0 is tension.
    """

    indices = Integers([0], "Points of the cable, from the pull point on.")
    pullPoint = Vector(3, [0.0, 0.0, 0.0], "Fixed point from which it is pulled.", unit="length")
    hasPullPoint = Bool(True, "Whether it is pulled from a fixed point.")
    cableInitialLength = Real(0.0, "Length without tension; that at init by default.")

    row_count = 1

    @property
    def only_pulls(self) -> bool:
        """Whether it goes slack where it would have to push."""
        raise NotImplementedError

    def check_differentiable(self) -> None:
        """Its derivative is known: it follows from its points."""
