"""Python engines: Data computed on demand from other Data."""

from __future__ import annotations

from typing import Any

from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.scripted import Scripted


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

    def update_outputs(self) -> None:
        """See Base."""
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
