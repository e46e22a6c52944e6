"""Components that are accepted and checked but have no effect without a display."""

from __future__ import annotations

from typing import ClassVar

from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool


class Inert(Component):
    """Accepted and checked, without effect."""

    category: ClassVar[str] = "inert"


class Drawn(Inert):
    """What only a GUI draws."""

    enable = Bool(True, "Draw it.")
