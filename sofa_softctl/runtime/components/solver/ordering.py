"""Orderings and projections, which our linear solvers have inside."""

from __future__ import annotations

from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool
from sofa_softctl.runtime.core.link import LinkType


class OrderingMethod(Component):
    """Order in which a direct solver takes the rows; ours chooses it itself, rounding apart."""


class AMDOrderingMethod(OrderingMethod):
    """Approximate minimum degree; accepted, without effect."""


class COLAMDOrderingMethod(OrderingMethod):
    """Approximate minimum degree of columns; accepted, without effect."""


class NaturalOrderingMethod(OrderingMethod):
    """Rows as they come; accepted, without effect."""


class ConstantSparsityProjectionMethod(Component):
    """How to carry mapped matrices to the independent states; accepted, without effect."""

    mechanicalStates = LinkType("Unused.", many=True)
    parallelProduct = Bool(True, "Unused.")


class MatrixProjectionMethod(Component):
    """How to carry mapped matrices to the independent states; accepted, without effect."""

    mechanicalStates = LinkType("Unused.", many=True)
