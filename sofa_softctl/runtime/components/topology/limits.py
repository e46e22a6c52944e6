"""SOFA's other spelling of a box at creation: xmin, ymin, ... zmax, and a scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sofa_softctl.runtime.core.data.reading import attribute

_ENDS = {"min": ("xmin", "ymin", "zmin"), "max": ("xmax", "ymax", "zmax")}


def with_limits(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with `min` and `max` in place of xmin, ymin, ... zmax.

    These count where all are given. SOFA reads them with single precision, and multiplies them by
    `scale`.
    """
    found = dict(values)
    scale = found.pop("scale", None)
    ends = {end: [found.pop(name, None) for name in names] for end, names in _ENDS.items()}
    if all(value is not None for row in ends.values() for value in row):
        factor = attribute(1.0 if scale is None else scale)
        for end, row in ends.items():
            found[end] = [attribute(value) * factor for value in row]
    return found
