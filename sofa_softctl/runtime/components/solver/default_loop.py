"""DefaultAnimationLoop: no Lagrangian constraints."""

from __future__ import annotations

from sofa_softctl.runtime.core.data.types import Bool
from sofa_softctl.runtime.core.event import Event
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.simulation.loop import SteppingLoop


class DefaultAnimationLoop(SteppingLoop):
    """Integrates in place: no constraint rows, no correction."""

    integrates = True

    parallelODESolving = Bool(False, "Unused.")
    computeBoundingBox = Bool(True, "Unused.")
    targetNode = LinkType("Unused: the root.")

    def settle(self) -> None:
        """See SteppingLoop."""
        super().settle()
        self.root.send(Event("IntegrateEndEvent"))

    def step(self, h: float) -> None:
        """See AnimationLoop."""
        self.begin(h)
        self.collide()
        self.root.send(Event("IntegrateBeginEvent"))
        self.clock.lap("controllers")
        self.outer.act()
        for system in self.systems:
            system.solver.integrate(h)
        self.clock.lap("free motion")
        self.end(h)
