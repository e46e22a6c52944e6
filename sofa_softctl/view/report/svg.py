"""Figures of HTML reports, as inline SVG."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from itertools import count
from typing import Any

from sofa_softctl._internal.axes import STYLE as PLOT_STYLE
from sofa_softctl._internal.axes import Figure

STYLE: dict[Any, Any] = PLOT_STYLE | {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
    "font.size": 8.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "sofa_softctl",
}
_numbers = count()


def svg(width: float, height: float, draw: Callable[[Figure], object]) -> str:
    """An SVG element, whose ids are unique on the page.

    Args:
        width: Of the figure [inch].
        height: Likewise.
        draw: Called with the empty figure of matplotlib.
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
    return re.sub(r'^<svg[^>]*?(viewBox="[^"]*")[^>]*>', _head, text, count=1)


def _head(found: re.Match[str]) -> str:
    space = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return f"<svg {space} {found[1]}>"
