"""Plot of the library paper's method beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.base import colors
from sofa_softctl.base.axes import Axes, legend_above
from sofa_softctl.view.plots.figure import new_figure

ERRORS = {"nearest": "nearest motion", "method": "the paper's method", "ours": "ours"}
"""Label of each kind of error."""


def save_library_table_plot(path: str | Path, found: Any) -> None:
    """Write a plot of a `LibraryTable`: shares of answers by error and by time, a line each seed.

    Raises:
        SoftctlError: A suffix that cannot be written.
    """
    from benchmarks.libraries.measure import WAYS

    unit = f" [{found.error_unit}]" if found.error_unit else ""
    with new_figure(path, (10.5, 4.0)) as figure:
        errors, times = figure.subplots(1, 2)
        for number, (name, label) in enumerate(ERRORS.items()):
            _plot_shares(errors, [each.errors[name] for each in found.measured], label, number)
        errors.axvline(found.tolerance, color=colors.LIMIT, lw=1.2, ls="--", label="tolerance")
        errors.set_xlabel(f"simulated error{unit}")
        for number, (way, label) in enumerate(WAYS.items(), 1):
            values = [1e3 * each.seconds[way] for each in found.measured]
            _plot_shares(times, values, label, number)
        times.xaxis.set_major_formatter("{x:g}")
        times.set_xlabel("computing time [ms]")
        for axes in (errors, times):
            axes.set_ylabel("share of answers [-]")
            legend_above(axes)


def _plot_shares(axes: Axes, values: list[np.ndarray], label: str, number: int) -> None:
    """Share of tasks with at most each value, for each seed."""
    for k, each in enumerate(values):
        known = np.maximum(np.sort(each[np.isfinite(each)]), 1e-9)
        if len(known):
            share = np.arange(1, len(known) + 1) / len(known)
            color = colors.PALETTE[number % len(colors.PALETTE)]
            axes.step(known, share, where="post", color=color, lw=1.0, label=None if k else label)
    axes.set_xscale("log")
