"""Figures that are written to files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from sofa_softctl.base.axes import STYLE, Figure
from sofa_softctl.base.files import replace_atomically
from sofa_softctl.errors import SoftctlError

SUFFIXES = (".png", ".svg", ".pdf")


@contextmanager
def new_figure(path: str | Path, size: tuple[float, float] = (6.4, 4.8)) -> Iterator[Figure]:
    """Yield an empty figure, and write it when the block ends; the file appears when complete.

    Args:
        path: File to write, in one of `SUFFIXES`.
        size: Width and height [inch].

    Raises:
        SoftctlError: Another suffix, or the file cannot be written.
    """
    path = Path(path)
    check_suffix(path)
    with styled_figure(size) as figure:
        yield figure
        figure.draw_without_rendering()  # the layout settles in two passes
        with replace_atomically(path) as name:
            figure.savefig(name)


@contextmanager
def styled_figure(size: tuple[float, float] = (6.4, 4.8)) -> Iterator[Figure]:
    """Yield an empty figure in the style of all plots; a notebook shows it without pyplot."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with rc_context(STYLE):
        figure = _figure_class()(figsize=size, dpi=130, layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


@cache
def _figure_class() -> Any:
    """Return the class of figures, made here because matplotlib is imported when it is needed."""
    from matplotlib.figure import Figure as PlainFigure

    class NotebookFigure(PlainFigure):
        def _repr_png_(self) -> bytes:
            file = BytesIO()
            self.savefig(file, format="png")
            return file.getvalue()

    return NotebookFigure


def check_suffix(path: Path) -> None:
    """Raise SoftctlError if no plot of that suffix can be written."""
    if path.suffix not in SUFFIXES:
        raise SoftctlError(f"A plot needs a name in .png, .svg or .pdf, got '{path}'.")
