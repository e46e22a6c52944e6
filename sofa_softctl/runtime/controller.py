"""Python controllers: user code that a scene calls in every step."""

from __future__ import annotations

from typing import Any

from sofa_softctl.runtime.component import Component
from sofa_softctl.runtime.data_types import Bool
from sofa_softctl.runtime.event import Event


class Controller(Component):
    """SOFA's Sofa.Core.Controller.

    A subclass overwrites the methods of the events it wants (`onAnimateBeginEvent(self, event)`,
    `onSolveConstraintSystemEndEvent`, ...); `onEvent` gets the others. Keyword arguments that are
    no Data are ignored, as in SofaPython3, so that a scene can hand over whatever it likes.
    """

    category = "controller"

    listening = Bool(True, "Receive events.")

    def __init__(self, *args: Any, **values: Any) -> None:
        known = {name: value for name, value in values.items() if name in self.data_names}
        super().__init__(*args, **known)

    def handle(self, event: Event) -> None:
        """Call the method for the event, unless it does not listen or left the scene meanwhile."""
        if self._context is None or not self.listening.get():
            return
        own = self.__dict__.get(event.handler)
        method = getattr(type(self), event.handler, None)
        if own is not None:
            own(event)
        elif method is not None:
            method(self, event)
        else:
            self.onEvent(event)

    def onEvent(self, event: Event) -> None:
        """Called with every event that has no method of its own."""
