"""What every plot must be: units on its axes, legends beside the data."""

import re

import pytest

COUNTED = ("", "iteration", "iteration; lines: refinement of the grid")
"""Labels without a unit: none, and numbers of iterations."""


@pytest.fixture
def drawn(monkeypatch):
    """The figures that were written, in order."""
    from matplotlib.figure import Figure

    figures, save = [], Figure.savefig

    def kept(figure, *arguments, **options):
        figures.append(figure)
        save(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", kept)
    return figures


@pytest.fixture
def check_readable():
    """check_readable(figure): fails where an axis has no unit, or a legend covers data."""
    return _check_readable


def _check_readable(figure):
    figure.canvas.draw()
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert shown
    for axes in shown:
        for label in (axes.get_xlabel(), axes.get_ylabel()):
            assert label in COUNTED or re.search(r"\[.+\]", label), f"no unit in '{label}'"
        if axes.get_legend() is None:
            continue
        legend, panel = axes.get_legend().get_window_extent(), axes.get_window_extent()
        outside = legend.x0 >= panel.x1 - 1.0 or legend.y0 >= panel.y1 - 1.0
        assert outside, f"a legend covers the data of '{axes.get_ylabel()}'"
        assert figure.bbox.x1 + 1.0 >= legend.x1 and figure.bbox.y1 + 1.0 >= legend.y1, "clipped"
        title = axes.get_title(loc="left")
        if title:
            text = axes._left_title.get_window_extent()
            assert not (legend.overlaps(text) and legend.y0 >= panel.y1 - 1.0), "title, legend"
