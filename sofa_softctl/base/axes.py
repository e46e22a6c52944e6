"""Style of axes, shared by all plots."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.base.colors import GRAY

Axes = Any  # matplotlib is imported when a plot is asked for
Figure = Any

STYLE: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.titlecolor": "#2a3138",
    "figure.titlesize": 9.5,
    "axes.edgecolor": "#b8c0c8",
    "axes.labelcolor": GRAY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e8ecf0",
    "xtick.color": GRAY,
    "ytick.color": GRAY,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "legend.labelcolor": "#2a3138",
}
"""matplotlib's rcParams of every plot."""
DECADES_MAX = 6
"""Largest number of decades on a logarithmic axis."""
LEGEND_ENTRIES_MAX = 16
"""Largest number of entries in a legend."""


def legend_beside(axes: Axes, *, reverse: bool = False) -> None:
    """Draw a legend at the right of the axes, without covering data.

    Beyond `ENTRIES` entries, the last line counts the remaining ones.
    """
    handles, labels = axes.get_legend_handles_labels()
    if not handles:
        return
    if len(handles) > LEGEND_ENTRIES_MAX:
        (blank,) = axes.plot([], [], " ")
        labels = [
            *labels[: LEGEND_ENTRIES_MAX - 1],
            f"and {len(labels) - LEGEND_ENTRIES_MAX + 1} more",
        ]
        handles = [*handles[: LEGEND_ENTRIES_MAX - 1], blank]
    position = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.2}
    axes.legend(handles, labels, reverse=reverse, **position)


def legend_above(axes: Axes, columns: int = 3) -> None:
    """Draw a legend of one line above the right end of the axes, without covering data."""
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=columns, borderaxespad=0.1)


def scale_positive(axes: Axes, values: np.ndarray) -> None:
    """Scale the y axis for values that are not negative.

    The axis is logarithmic, over at most `DECADES_MAX`, if they span more than a factor of 30;
    otherwise it starts at zero.
    """
    positive = values[values > 0.0]
    if not positive.size or positive.max() < 30.0 * positive.min():
        axes.set_ylim(bottom=0.0)
        return
    value_max, value_min = float(positive.max()), float(positive.min())
    value_min = max(value_min, value_max * 10.0**-DECADES_MAX)
    axes.set_yscale("log")
    axes.set_ylim(0.7 * value_min, 1.5 * value_max)
    label_logarithmic(axes.yaxis, value_min, value_max)


def label_logarithmic(axis: Any, value_min: float, value_max: float) -> None:
    """Set few labels on a logarithmic axis, such as 0.01, 0.1, 1; also 2 and 5 on a short one.

    Args:
        axis: Axis of matplotlib with a logarithmic scale.
        value_min: Smallest value on the axis, above 0.
        value_max: Largest value on the axis.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(
        LogLocator(subs=(1.0,) if value_max > 300.0 * value_min else (1.0, 2.0, 5.0))
    )
    if value_min > 1e-4:
        axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def plane_of(*paths: np.ndarray) -> tuple[int, int]:
    """Return the two coordinates that change most along the first path that moves, or x and y.

    Args:
        paths: Points [length], shape (n, ..., 3).
    """
    for path in paths:
        extent = np.ptp(path, axis=0).reshape(-1, 3).max(axis=0)
        if extent.max() > 1e-9 * max(1e-300, float(np.abs(path).max())):
            first, second = sorted(np.argsort(-extent, kind="stable")[:2].tolist())
            return first, second
    return 0, 1


def set_equal_limits(axes: Axes, points: np.ndarray) -> None:
    """Set limits with equal scales and a margin around points; no side is much longer.

    Args:
        points: Points that must be visible, shape (n, 2).
    """
    low, high = points.min(axis=0), points.max(axis=0)
    size = max(float((high - low).max()), 1e-3 * float(np.abs(points).max()), 1e-12)
    half_size = 0.56 * np.maximum(high - low, 0.7 * size)
    middle = 0.5 * (low + high)
    axes.set_xlim(middle[0] - half_size[0], middle[0] + half_size[0])
    axes.set_ylim(middle[1] - half_size[1], middle[1] + half_size[1])
    axes.set_aspect("equal", adjustable="box", anchor="C")


def true_spans(flags: np.ndarray) -> list[tuple[int, int]]:
    """Return the first and last index of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]
