"""SOFA's short spellings of a transformation at creation: dx, dy, dz, rx, ry, rz, sx, sy, sz."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sofa_softctl.runtime.core.data.reading import attribute

_SPELLINGS = {"translation": "d", "rotation": "r", "scale3d": "s"}


def spelt_out(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with `translation`, `rotation` and `scale3d` in place of their short spellings."""
    found = dict(values)
    for name, letter in _SPELLINGS.items():
        keys = [f"{letter}{axis}" for axis in "xyz"]
        if any(key in found for key in keys):
            unset = 1.0 if name == "scale3d" else 0.0
            found[name] = [attribute(found.pop(key, unset)) for key in keys]
    return found
