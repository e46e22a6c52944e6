"""Python controllers: user code that a scene calls in every step."""

from __future__ import annotations

from sofa_softctl.runtime.core.event import Event
from sofa_softctl.runtime.core.scripted import Scripted


class Controller(Scripted):
    """SOFA's Sofa.Core.Controller.

    A subclass overwrites the methods of the events it wants (`onAnimateBeginEvent(self, event)`,
    `onSolveConstraintSystemEndEvent`, ...); `onEvent` gets the others. Keyword arguments that are
    no Data are ignored, as in SofaPython3, so that a scene can hand over whatever it likes.
    """

    category = "controller"

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
