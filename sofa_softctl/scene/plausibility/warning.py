"""A warning of the start, and the words for where it is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.runtime.helper.source_line import describe


class StartWarning(NamedTuple):
    """Something implausible, for `Sofa.msg_warning`."""

    component: Any
    """Component or node that it is about."""
    text: str
    """What and where, the number, what was expected, and what to do."""


def at(component: Any) -> str:
    """`scenes/trunk.py:41: CableConstraint '/trunk/left/cable'`; SOFA does not know the line."""
    where = getattr(component, "_where", None)
    line = f"{describe(where)}: " if where is not None else ""
    kind = component.getClassName() if hasattr(component, "getClassName") else "Node"
    return f"{line}{kind} '{component.getPathName()}'"


def point(position: np.ndarray) -> str:
    """A point as a text."""
    return f"[{', '.join(f'{value:.4g}' for value in position)}]"
