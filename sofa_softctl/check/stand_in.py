"""Placeholders for missing components, so that a check covers the remaining scene."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sofa_softctl.runtime.core import factory
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data import reading


class StandIn(Component):
    """A component that accepts any Data and does nothing."""

    replaced_name = ""
    """Class name of the missing component."""

    def __init__(self, *args: Any, **values: Any) -> None:
        declared = {name: value for name, value in values.items() if name in self.data_names}
        super().__init__(*args, **declared)
        for name, value in values.items():
            if name not in declared and not hasattr(type(self), name):
                text = reading.text(value)
                self.addData(name, value="" if text.startswith("@") else text, type="string")

    def getClassName(self) -> str:  # type: ignore[override]
        """Return the class name of the missing component."""
        return self.replaced_name


@contextmanager
def stand_ins() -> Iterator[None]:
    """Make the factory return a `StandIn` for every unknown component in the block."""

    def make_class(name: str) -> type[Component]:
        return type(name, (StandIn,), {"replaced_name": name, "__doc__": "Placeholder."})

    with factory.otherwise(make_class):
        yield
