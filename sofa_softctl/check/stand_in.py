"""Stand-ins for components that are not here, so that a check sees the rest of the scene."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sofa_softctl.runtime.core import factory
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data import reading


class StandIn(Component):
    """Takes any Data and does nothing."""

    wanted = ""
    """The component in whose place it stands."""

    def __init__(self, *args: Any, **values: Any) -> None:
        known = {name: value for name, value in values.items() if name in self.data_names}
        super().__init__(*args, **known)
        for name, value in values.items():
            if name not in known and not hasattr(type(self), name):
                text = reading.text(value)
                self.addData(name, value="" if text.startswith("@") else text, type="string")

    def getClassName(self) -> str:  # type: ignore[override]
        """The name of the component in whose place it stands."""
        return self.wanted


@contextmanager
def stand_ins() -> Iterator[None]:
    """Within it, the factory makes a `StandIn` for every component that it does not know."""

    def make(name: str) -> type[Component]:
        return type(name, (StandIn,), {"wanted": name, "__doc__": "Stands in."})

    with factory.otherwise(make):
        yield
