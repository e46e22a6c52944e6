"""Plot of a training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.base import colors
from sofa_softctl.view.plots.figure import new_figure


def save_learning_plot(path: str | Path, curve: Sequence[Any]) -> None:
    """Plot the return of each iteration's episodes, mean and standard deviation, over decisions.

    Args:
        path: File to write (.png, .svg, .pdf).
        curve: Points of a training, `learning.training.curve.CurvePoint`.

    Raises:
        SoftctlError: a suffix that cannot be written.
    """
    steps = np.array([point.steps for point in curve])
    mean, deviation, success = (
        np.array([getattr(point, name) for point in curve])
        for name in ("mean", "deviation", "success")
    )
    with_success = bool(np.isfinite(success).any())
    with new_figure(path, (7.0, 5.5 if with_success else 3.6)) as figure:
        panels = np.atleast_1d(figure.subplots(2 if with_success else 1, 1, sharex=True))
        low, high = mean - deviation, mean + deviation
        panels[0].fill_between(steps, low, high, color=colors.PALETTE[0], alpha=0.2, lw=0)
        panels[0].plot(steps, mean, color=colors.PALETTE[0])
        panels[0].set_ylabel("return")
        if with_success:
            panels[1].plot(steps, 100.0 * success, color=colors.PALETTE[1])
            panels[1].set_ylabel("episodes done [%]")
            panels[1].set_ylim(-3, 103)
        panels[-1].xaxis.set_major_formatter("{x:,.0f}")
        panels[-1].set_xlabel("decisions")
