"""Steps in SOFA: exceptions of controllers propagate, phases are timed.

SofaPython3 prints the error of an event method and continues. Here the methods are wrapped, so
that the first error ends the step and reaches the caller. An added controller listens to the
events of a step, which separate its phases.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from sofa_softctl.errors import DivergedError
from sofa_softctl.runtime.core import attributes
from sofa_softctl.runtime.helper import message
from sofa_softctl.scene.graph.nodes import controllers_of, nodes_of, own_state

ENDS = {
    "CollisionBeginEvent": "free motion",
    "CollisionEndEvent": "collision",
    "IntegrateEndEvent": "free motion",
    "BuildConstraintSystemEndEvent": "constraint rows and W",
    "SolveConstraintSystemEndEvent": "constraint solver",
    "AnimateEndEvent": "correction",
}
"""Phase that an event ends; the remaining time belongs to the mappings."""


class SofaSteps:
    """Steps an initialised scene graph of SOFA.

    Args:
        Sofa: SOFA's own module.
        root: Root of the graph; a controller 'softctl_phases' is added to it.
    """

    def __init__(self, Sofa: Any, root: Any) -> None:
        self.seconds: dict[str, float] = {}
        """Wall time of each phase since the start [s]."""
        self._simulation, self._root = Sofa.Simulation, root
        self._error: BaseException | None = None
        self._last = 0.0
        self._in_controllers = 0.0
        self._states = [
            node for node in nodes_of(root) if own_state(node) and not node.getMechanicalMapping()
        ]
        self._starts = {}
        for controller in controllers_of(Sofa, root):
            self._starts[controller] = attributes.capture(controller)
            self._guard(controller)
        root.addObject(_listener(Sofa, self._end_phase))

    def animate(self, dt: float) -> None:
        """Advance the scene by one step of length dt.

        Raises:
            Exception: the first error of a controller in this step.
            DivergedError: a position became NaN or infinite.
        """
        start = float(self._root.time.value)
        self._error, self._last, self._in_controllers = None, perf_counter(), 0.0
        self._simulation.animate(self._root, dt)
        self._end_phase("")
        if self._error is not None:
            raise self._error
        for node in self._states:
            state = own_state(node)
            position = np.asarray(state.position.value)
            if not np.isfinite(position).all():
                bad = ~np.isfinite(position).all(axis=1)
                raise DivergedError.from_nodes(state.getPathName(), start, dt, bad)

    def reset_controllers(self) -> None:
        """Call each `reset()`; warn of controllers without one whose attributes have changed."""
        for controller, start in self._starts.items():
            if hasattr(controller, "reset"):
                controller.reset()
            if not attributes.holds_own_state(controller, "reset"):
                if changed := attributes.changed_attributes(controller, start):
                    message.warning(
                        controller,
                        f"{controller.getPathName()}: in SOFA a reset leaves attributes of "
                        f"controllers as they are: {', '.join(changed)}. Give the class reset().",
                    )

    def _guard(self, controller: Any) -> None:
        for name in dir(type(controller)):
            method = getattr(controller, name, None) if name.startswith("on") else None
            if callable(method):
                controller.__dict__[name] = self._catch_error(method)

    def _catch_error(self, method: Callable[[Any], Any]) -> Callable[[Any], None]:
        def call(event: Any) -> None:
            if self._error is not None:
                return  # the step has failed: the last command holds the robot
            start = perf_counter()
            try:
                method(event)
            except BaseException as error:  # SofaPython3 would print Ctrl-C, and continue
                self._error = error
            self._in_controllers += perf_counter() - start

        return call

    def _end_phase(self, event: str) -> None:
        now = perf_counter()
        for phase, seconds in (
            (ENDS.get(event, "mappings"), now - self._last - self._in_controllers),
            ("controllers", self._in_controllers),
        ):
            self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds
        self._last, self._in_controllers = now, 0.0


def _listener(Sofa: Any, end_phase: Callable[[str], None]) -> Any:
    class PhaseListener(Sofa.Core.Controller):  # type: ignore[misc, name-defined]
        """Listener for the events between the phases of a step."""

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(name)  # SOFA's search for missing methods is slow

        def onEvent(self, event: Any) -> None:
            """End the phase that an event belongs to."""
            if event["type"] in ENDS:
                end_phase(event["type"])

    return PhaseListener(name="softctl_phases")
