"""Figures of HTML reports, as inline SVG."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import escape
from itertools import count
from typing import Any

from sofa_softctl.base.axes import STYLE as PLOT_STYLE
from sofa_softctl.base.axes import Figure

STYLE: dict[Any, Any] = PLOT_STYLE | {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
    "font.size": 8.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "sofa_softctl",
}
THEME = {
    "#000000": "ink",
    "#2a3138": "ink",
    "#5b6570": "soft",
    "#b8c0c8": "edge",
    "#e8ecf0": "line",
    "#3a424a": "data",
    "#0072b2": "blue",
    "#d55e00": "orange",
    "#4d4d4d": "gray",
}
"""Variables of `html.STYLE` that replace colours of figures, to follow the page's theme."""
_numbers = count()


def svg(width: float, height: float, draw: Callable[[Figure], object], alt: str = "") -> str:
    """Return an SVG element with ids that are unique on the page and colours of its theme.

    Args:
        width: Width of the figure [inch].
        height: Height of the figure [inch].
        draw: Called with the empty figure of matplotlib.
        alt: Description for screen readers.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as NewFigure

    with rc_context(STYLE):
        figure = NewFigure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure)
        file = io.StringIO()
        figure.savefig(file, format="svg", dpi=150.0, metadata={"Date": None}, transparent=True)
    text = file.getvalue()
    text = text[text.index("<svg") :]
    number = next(_numbers)
    text = re.sub(r'\bid="', f'id="f{number}-', text)
    text = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>f{number}-", text)
    text = re.sub(r"#[0-9a-f]{6}\b", lambda match: _page_color(match[0]), text)
    (box,) = re.findall(r'^<svg[^>]*?(viewBox="[^"]*")', text)
    space = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    label = f' role="img" aria-label="{escape(alt)}"' if alt else ""
    return f"<svg {space} {box}{label}>" + text[text.index(">") + 1 :]


def _page_color(color: str) -> str:
    return f"var(--{THEME[color]})" if color in THEME else color
