"""Colours, and numbers of points, of the figures of an identification."""

from __future__ import annotations

from typing import Any

from sofa_softctl.base.colors import PALETTE
from sofa_softctl.identification.model.parameter import Parameter

BLUE, ORANGE = PALETTE[0], PALETTE[5]
DATA = "#3a424a"
"""Of what was measured."""
INK_ON_COLOR = "#20262c"
"""Of texts on colours that are pale in any theme."""
SAMPLES = 1500
"""More samples than this are thinned for a plot, gaps kept."""
BESIDE: dict[str, Any] = {"fontsize": 7.5, "loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
"""A legend that hides nothing."""


def labelled(parameter: Parameter) -> str:
    """Name and unit of a parameter, for axes and legends."""
    return f"{parameter.name} [{parameter.unit}]" if parameter.unit else parameter.name
