"""DefaultAnimationLoop: no Lagrangian constraints."""

from __future__ import annotations

from sofa_softctl.runtime.core.data.types import Bool
from sofa_softctl.runtime.core.event import Event
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.source_line import describe
from sofa_softctl.runtime.simulation.loop import SteppingLoop


class DefaultAnimationLoop(SteppingLoop):
    """Integrates in place: no constraint rows, no correction."""

    integrates = True

    parallelODESolving = Bool(False, "Unused.")
    computeBoundingBox = Bool(True, "Unused.")
    targetNode = LinkType("Unused: the root.")

    def prepare(self) -> None:
        """See AnimationLoop; says which constraints will do nothing."""
        super().prepare()
        idle = [entry for node in self.root.walk() for entry in node.of("constraint")]
        if idle:
            message.warning(
                idle[0],
                f"{describe(idle[0]._where)}: {idle[0].describe()} does nothing under "
                "DefaultAnimationLoop: add a FreeMotionAnimationLoop to the root.",
            )

    def step(self, h: float) -> None:
        """See AnimationLoop."""
        self.begin(h)
        self.collide()
        self.root.send(Event("IntegrateBeginEvent"))
        self.clock.lap("controllers")
        for system in self.systems:
            system.solver.integrate(h)
        self.clock.lap("free motion")
        self.end(h)
