"""Components written in Python: controllers and engines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from typing_extensions import override

from sofa_softctl.base.source_line import Line
from sofa_softctl.runtime.core import attributes
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.handling import Handling
from sofa_softctl.runtime.core.data.types import Bool
from sofa_softctl.runtime.core.event import Event


@contextmanager
def noted_controllers() -> Iterator[list[Controller]]:
    """Within it, controllers that are made come into the list that it gives."""
    before, Controller.made = Controller.made, []
    try:
        yield Controller.made
    finally:
        Controller.made = before


class Scripted(Component):
    """A component in Python.

    Keyword arguments that are no Data are ignored, as in SofaPython3, so that a scene can hand over
    whatever it likes.
    """

    _scripted = True

    listening = Bool(True, "Receive events.")

    def __init__(self, *args: Any, **values: Any) -> None:
        known = {name: value for name, value in values.items() if name in self.data_names}
        super().__init__(*args, **known)

    def check_change(self, data: Data, value: Any, where: Line | None) -> None:
        """See Base: what its Data do is its own matter."""


class Controller(Scripted):
    """SOFA's Sofa.Core.Controller.

    A subclass overwrites the methods of the events it wants (`onAnimateBeginEvent(self, event)`,
    `onSolveConstraintSystemEndEvent`, ...); `onEvent` gets the others. Keyword arguments that are
    no Data are ignored, as in SofaPython3, so that a scene can hand over whatever it likes.
    """

    category = "controller"
    _attributes_at_start: dict[str, Any] | None = None
    """Attributes of its own at the end of the initialisation, where no `reset` of it knows them."""
    stepping: ClassVar[bool] = False
    """Whether a step is made now, of any scene."""

    made: ClassVar[list[Controller] | None] = None
    """Those that a scene makes while it is loaded; None if nobody asks."""

    def __new__(cls, *args: Any, **values: Any) -> Any:
        """Note it: one that nobody adds to a node gets no event."""
        del args, values
        controller = super().__new__(cls)
        if Controller.made is not None:
            Controller.made.append(controller)
        return controller

    def _remember_attributes(self) -> None:
        """Make the present attributes those to which `reset` returns."""
        if not attributes.holds_own_state(self, "reset"):
            self.__dict__["_attributes_at_start"] = attributes.capture(self)

    def _return_attributes(self) -> None:
        """Back to the attributes at the end of the initialisation; see `runtime.core.attributes`.

        What was set between the steps stays, as Data that scripts set do.
        """
        if self._attributes_at_start is not None:
            attributes.warn_unheld(self, self._attributes_at_start)
            attributes.put_back(self, self._attributes_at_start)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if self._attributes_at_start is not None and not Controller.stepping:
            attributes.note_set(self, name, self._attributes_at_start)

    def handle(self, event: Event) -> None:
        """Call the method for the event, unless it does not listen or left the scene meanwhile."""
        if self._context is None or not self.listening.get():
            return
        own = self.__dict__.get(event.handler)
        method = getattr(type(self), event.handler, None)
        try:
            with Handling(self, event.handler):
                if callable(own):
                    own(event)
                elif callable(method):
                    method(self, event)
                else:
                    self.onEvent(event)
        except TypeError as error:
            trace = error.__traceback__
            if trace is None or trace.tb_next is not None:  # raised within the method
                raise
            raise self.fault(
                f"has a method '{event.handler}' that cannot be called with an event: {error}. "
                f"Write def {event.handler}(self, event)."
            ) from error

    def onEvent(self, event: Event) -> None:
        """Called with every event that has no method of its own."""


class DataEngine(Scripted):
    """SOFA's Sofa.Core.DataEngine.

    A subclass adds Data, says which are inputs and which outputs, and sets the outputs in
    `update`, which is called when an output is read after an input changed.
    """

    def __init__(self, *args: Any, **values: Any) -> None:
        self._inputs: list[Data] = []
        self._seen: list[int] | None = None  # the inputs' counters at the last update
        self._updating = False
        super().__init__(*args, **values)

    def addInput(self, data: Data) -> None:
        """Update when this Data changed."""
        self._inputs.append(data)
        self._seen = None

    def addOutput(self, data: Data) -> None:
        """Update before this Data is read."""
        data.type.computed = True
        self._seen = None

    def update(self) -> None:
        """Set the outputs."""
        raise self.fault("is a DataEngine without a method update(self), which sets its outputs.")

    @override
    def update_outputs(self) -> None:
        if self._updating:
            return
        counters = [data.getCounter() for data in self._inputs]
        if counters == self._seen:
            return
        self._updating = True
        try:
            self.update()
        finally:
            self._updating = False
        self._seen = counters
