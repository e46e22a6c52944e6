"""Role of a cavity under pressure in derivatives."""

from __future__ import annotations

from sofa_softctl.runtime.behavior.constraint import LagrangianConstraint
from sofa_softctl.runtime.core.data.types import Bool, Elements, Real


class Cavity(LagrangianConstraint):
    """A constraint on the volume inside a surface of a state: one row.

    delta = V - V0, positive when the cavity grows; lambda > 0 is over-pressure along the normals.
    """

    triangles = Elements(
        3, [], "Triangles; with no quads either, all of the node's topology.", optional_link=True
    )
    quads = Elements(
        4, [], "Quadrilaterals; with no triangles either, all of the topology.", optional_link=True
    )
    flipNormal = Bool(False, "Turn the normals round: for surfaces that wind inwards.")
    initialCavityVolume = Real(0.0, "Volume at init.", unit="length^3", read_only=True)

    row_count = 1

    @property
    def only_inflates(self) -> bool:
        """Whether it has no pressure where it would have to suck."""
        raise NotImplementedError

    def check_differentiable(self) -> None:
        """Its derivative is known: it follows from its surface."""
