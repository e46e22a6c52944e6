"""Labels of the histograms."""

import numpy as np
import pytest

from sofa_softctl.bridge.course.state import Histogram
from sofa_softctl.bridge.summary import _plot_histogram


@pytest.mark.parametrize(
    ("least", "most", "expected"),
    [
        (26e-6, 0.7e-3, {"0.05", "0.1", "0.2", "0.5"}),
        (30e-6, 90e-6, {"0.05"}),
        (0.1e-3, 0.9, {"1", "10", "100"}),
    ],
)
def test_times_have_few_plain_labels_that_do_not_overlap(least, most, expected):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    found = Histogram()
    for seconds in np.geomspace(least, most, 200):
        found.add(seconds)
    figure = Figure((5.0, 2.5), layout="constrained")
    axes = figure.subplots()
    _plot_histogram(axes, "time [ms]", found.counts, found.edges)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    low, high = axes.get_xlim()
    shown = [
        tick.label1
        for tick in (*axes.xaxis.get_major_ticks(), *axes.xaxis.get_minor_ticks())
        if low <= tick.get_loc() <= high and tick.label1.get_text()
    ]
    assert expected <= {label.get_text() for label in shown}
    assert not any("times" in label.get_text() for label in shown)
    boxes = sorted(
        (label.get_window_extent(canvas.get_renderer()) for label in shown), key=lambda box: box.x0
    )
    assert all(one.x1 < next_.x0 for one, next_ in zip(boxes, boxes[1:], strict=False))
