"""Colours, and numbers of points, of the figures of an identification."""

from __future__ import annotations

from typing import Any

from sofa_softctl.base.colors import PALETTE
from sofa_softctl.identification.model.parameter import Parameter

BLUE, ORANGE = PALETTE[0], PALETTE[5]
DATA = "#3a424a"
"""Color of measured data."""
INK_ON_COLOR = "#20262c"
"""Color of text on backgrounds that are pale in any theme."""
SAMPLES_MAX = 1500
"""Maximum number of samples in a plot."""
BESIDE: dict[str, Any] = {"fontsize": 7.5, "loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
"""Options of a legend next to the axes."""


def axis_label(parameter: Parameter) -> str:
    """Return name and unit of a parameter, for axes and legends."""
    return f"{parameter.name} [{parameter.unit}]" if parameter.unit else parameter.name
