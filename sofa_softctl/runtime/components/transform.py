"""SOFA's short spellings of a transformation at creation: dx, dy, dz, rx, ry, rz, sx, sy, sz."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sofa_softctl.runtime.core.data.reading import attribute

_SPELLINGS = {"translation": "d", "rotation": "r", "scale3d": "s"}


def spell_out(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with `translation`, `rotation` and `scale3d` instead of short spellings."""
    result = dict(values)
    for name, letter in _SPELLINGS.items():
        keys = [f"{letter}{axis}" for axis in "xyz"]
        if any(key in result for key in keys):
            unset = 1.0 if name == "scale3d" else 0.0
            result[name] = [attribute(result.pop(key, unset)) for key in keys]
    return result
