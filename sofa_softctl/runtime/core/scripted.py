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
    """Collect the controllers that are created inside the block."""
    before, Controller.made = Controller.made, []
    try:
        yield Controller.made
    finally:
        Controller.made = before


class ScriptComponent(Component):
    """Component in Python; ignores keyword arguments that are not Data, as SofaPython3."""

    _scripted = True

    listening = Bool(True, "Receive events.")

    def __init__(self, *args: Any, **values: Any) -> None:
        data_values = {name: v for name, v in values.items() if name in self.data_names}
        super().__init__(*args, **data_values)

    def check_change(self, data: Data, value: Any, line: Line | None) -> None:
        """Accept all changes of the Data of Python classes."""


class Controller(ScriptComponent):
    """SOFA's Sofa.Core.Controller.

    A subclass overrides the methods of events (`onAnimateBeginEvent(self, event)`,
    `onSolveConstraintSystemEndEvent`, ...); `onEvent` gets the other events. Keyword arguments that
    are not Data are ignored, as in SofaPython3, so scenes can pass any.
    """

    category = "controller"
    _attributes_at_start: dict[str, Any] | None = None
    """Attributes at the end of the initialisation, unless its class has a `reset`."""
    stepping: ClassVar[bool] = False
    """Whether a scene makes a step at present."""

    made: ClassVar[list[Controller] | None] = None
    """Controllers that a scene creates while it is loaded, or None if they are not collected."""

    def __new__(cls, *args: Any, **values: Any) -> Any:
        """Record it in `made`: a controller that is in no node gets no events."""
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
        """Restore the attributes at the end of the initialisation; see `runtime.core.attributes`.

        Attributes that were set between the steps stay, as Data that scripts set.
        """
        if self._attributes_at_start is not None:
            attributes.warn_unheld(self, self._attributes_at_start)
            attributes.put_back(self, self._attributes_at_start)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if self._attributes_at_start is not None and not Controller.stepping:
            attributes.note_set(self, name, self._attributes_at_start)

    def handle(self, event: Event) -> None:
        """Call the method for the event, unless it does not listen or has left the scene."""
        handler = event.handler
        instance_method = self.__dict__.get(handler)
        method = getattr(type(self), handler, None)
        if method is None and instance_method is None and type(self).onEvent is Controller.onEvent:
            return  # most events: it does nothing with them
        if self._context is None or not self.listening.get():
            return
        try:
            with Handling(self, handler):
                if callable(instance_method):
                    instance_method(event)
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
        """Handle an event for which there is no method."""


class DataEngine(ScriptComponent):
    """SOFA's Sofa.Core.DataEngine.

    A subclass adds Data, declares inputs and outputs, and sets the outputs in `update`, which is
    called when an output is read after an input has changed.
    """

    def __init__(self, *args: Any, **values: Any) -> None:
        self._inputs: list[Data] = []
        self._seen: list[int] | None = None  # the inputs' counters at the last update
        self._updating = False
        super().__init__(*args, **values)

    def addInput(self, data: Data) -> None:
        """Update after this Data has changed."""
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
