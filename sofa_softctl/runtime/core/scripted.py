"""Base class of controllers, engines and force fields written in Python."""

from __future__ import annotations

from typing import Any

from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool


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
