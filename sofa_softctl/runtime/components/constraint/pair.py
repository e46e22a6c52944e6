"""Base class of constraints between nodes of two states."""

from __future__ import annotations

from functools import cached_property

from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import LagrangianConstraint
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.core.link import LinkType


class PairConstraint(LagrangianConstraint):
    """Acts on the states of object1 and object2, which may be the same."""

    object1 = LinkType("First state; the node's own by default.", kind="state")
    object2 = LinkType("Second state; the node's own by default.", kind="state")

    @cached_property
    def state(self) -> MechanicalState:  # type: ignore[override]
        """The first state."""
        return self.linked_state("object1")

    @cached_property
    def partner(self) -> MechanicalState:
        """The second state."""
        return self.linked_state("object2")

    @property
    @override
    def states(self) -> list[MechanicalState]:
        return [self.state, self.partner]
