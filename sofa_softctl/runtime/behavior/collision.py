"""Role of collision pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sofa_softctl.runtime.behavior.constraint import LagrangianConstraint
from sofa_softctl.runtime.behavior.mechanics import ForceField
from sofa_softctl.runtime.core.component import Component


class ContactDetection(Component):
    """Finds contacts in every step, in the positions at its start."""

    category: ClassVar[str] = "collision pipeline"

    contacts: Sequence[LagrangianConstraint]
    """The contacts of this step that are constraints."""
    penalties: Sequence[ForceField]
    """Those that push like springs."""

    def prepare(self) -> None:
        """Get ready for the graph as it is now."""
        raise NotImplementedError

    def detect(self) -> None:
        """Find the contacts of this step."""
        raise NotImplementedError
