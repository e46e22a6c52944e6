"""Colours and style of axes, shared by all plots."""

from __future__ import annotations

from typing import Any

import numpy as np

Axes = Any  # matplotlib is imported when a plot is asked for
Figure = Any

COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#4d4d4d", "#b8a900")
"""Palette that is safe for colour-blind readers (Okabe and Ito)."""


def clean(axes: Axes) -> None:
    """No frame above and to the right, and a light grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#eeeeee")


def spans(flags: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]
