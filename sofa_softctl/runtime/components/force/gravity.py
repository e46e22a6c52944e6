"""Gravity: another gravity in a part of the graph."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Vector


class Gravity(Component):
    """The gravity of its node and those below it, in place of the parent's, as in SOFA."""

    category: ClassVar[str] = "context"

    gravity = Vector(3, [0.0, 0.0, 0.0], "Gravity here and below.", unit="length/time^2")

    def added(self) -> None:
        """See Component."""
        assert self._context is not None
        self._context.contexts.append(self)

    def cleanup(self) -> None:
        """See Component: it is taken out of its node."""
        if self._context is not None and self in self._context.contexts:
            self._context.contexts.remove(self)

    def apply(self) -> None:
        """Set it, after the node took over its parent's: at init and at the end of each step."""
        assert self._context is not None
        np.copyto(self._context._data["gravity"].get(), self.gravity.get())
