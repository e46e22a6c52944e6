"""Figures of reports of runs, as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sofa_softctl.base.axes import Figure, legend_beside
from sofa_softctl.base.colors import PALETTE
from sofa_softctl.view.report.svg import svg

SAMPLES = 1500
"""More steps than this are drawn as the least and the greatest value of equal spans."""


def series_figure(
    time: np.ndarray, values: np.ndarray, labels: Sequence[str], unit: str, time_unit: str
) -> str:
    """Columns over time.

    Args:
        time: Shape (n,).
        values: Shape (n, k); NaN are gaps.
        labels: Of the columns.
        unit: Of the values; empty: none.
        time_unit: Likewise.
    """
    time, values = thinned(time, values)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for k, (column, label) in enumerate(zip(values.T, labels, strict=True)):
            line = "-" if k < len(PALETTE) else "--"
            color = PALETTE[k % len(PALETTE)]
            axes.plot(time, column, line, color=color, linewidth=1.3, label=label)
        axes.set_xlabel(f"time [{time_unit}]" if time_unit else "time")
        axes.set_ylabel(f"[{unit}]" if unit else "")
        axes.margins(x=0.01)
        if len(labels) > 1:
            legend_beside(axes)

    return svg(9.2, 2.3, draw)


def thinned(time: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most about `SAMPLES` rows that keep every peak: least and greatest value of each span.

    Args:
        time: Shape (n,).
        values: Shape (n, k).
    """
    if len(time) <= SAMPLES:
        return time, values
    span = math.ceil(2 * len(time) / SAMPLES)
    starts = np.arange(0, len(time), span)
    low = np.fmin.reduceat(values, starts)
    high = np.fmax.reduceat(values, starts)
    last = np.minimum(starts + span - 1, len(time) - 1)
    times = np.stack([time[starts], time[last]], axis=1).ravel()
    return times, np.stack([low, high], axis=1).reshape(-1, values.shape[1])
