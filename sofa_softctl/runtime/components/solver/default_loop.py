"""Animation loops without Lagrangian constraints."""

from __future__ import annotations

from typing_extensions import override

from sofa_softctl.runtime.core.data.types import Bool, Int
from sofa_softctl.runtime.core.event import Event
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper import timer
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.simulation.followers import place_follower
from sofa_softctl.runtime.simulation.loop import SteppingLoop


class DefaultAnimationLoop(SteppingLoop):
    """Integrates in place: no constraint rows, no correction."""

    integrates = True

    parallelODESolving = Bool(False, "Unused.")
    computeBoundingBox = Bool(True, "Unused.")
    targetNode = LinkType("Unused: the root.")

    @override
    def settle(self) -> None:
        super().settle()
        self.root.send(Event("IntegrateEndEvent"))

    @override
    def step(self, h: float) -> None:
        self.begin(h)
        self.collide()
        self.root.send(Event("IntegrateBeginEvent"))
        self.clock.lap("controllers")
        self.outer.act()
        for system in self.systems:
            assert system.solver._context is not None
            with timer.record_steps("solve", f"Mechanical ({system.solver._context.getName()})"):
                system.solver.integrate(h)
        self.clock.lap("free motion")
        self.end(h)


class MultiStepAnimationLoop(SteppingLoop):
    """Divides a step into `collisionSteps` searches for contacts with `integrationSteps` each.

    Controllers see the whole step. As in SOFA, time advances by the integrations of one search
    only, so by less than the step if there are several searches.
    """

    aliases = ("MultiStepMasterSolver",)
    integrates = True

    computeBoundingBox = Bool(True, "Unused: boxes are computed on demand.")
    collisionSteps = Int(1, "Searches for contacts per step.")
    integrationSteps = Int(1, "Integrations after each search.")

    @override
    def step(self, h: float) -> None:
        searches, integrations = self.collisionSteps.get(), self.integrationSteps.get()
        if searches < 1 or integrations < 1:
            problem = self.fault(
                "takes 1 or more in 'collisionSteps' and 'integrationSteps', got "
                f"{searches} and {integrations}."
            )
            complain(self, problem, " As in SOFA nothing moves, and no time passes.")
            integrations = 0
        time = self.root.time
        start, substep = time.get(), h / (searches * integrations or 1)
        self.begin(h)
        for _ in range(searches):
            self.collide()
            for k in range(integrations):
                self._integrate(substep)
                time.set(start + (k + 1) * substep)
                self.root.inherit()
        time.set(start + integrations * substep - h)  # `end` adds h
        self.end(h)

    def settle(self) -> None:
        """Place unmoved mappings; the others are done after each integration."""
        for mapping in self.unmoved_mappings:
            place_follower(mapping)

    def _integrate(self, h: float) -> None:
        self.root.send(Event("IntegrateBeginEvent"))
        self.outer.act()
        for system in self.systems:
            system.update_fixed()
            system.solver.integrate(h)
            system.settle()
        self.outer.clear()
        self.root.send(Event("IntegrateEndEvent"))
