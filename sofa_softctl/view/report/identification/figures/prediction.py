"""Figure of one channel: measured and predicted, and the residuals."""

from __future__ import annotations

import math

import numpy as np

from sofa_softctl._internal.axes import Figure
from sofa_softctl._internal.colors import GRAY
from sofa_softctl.identification.fitting.residual import Fit
from sofa_softctl.identification.uncertainty.residual_analysis import far_from_zero
from sofa_softctl.view.report.identification.figures.style import BLUE, DATA, ORANGE, SAMPLES
from sofa_softctl.view.report.svg import svg


def fit_figure(fit: Fit, column: int) -> str:
    """One channel: measured and predicted above, residuals in deviations below."""
    channel = fit.channels[column]

    def draw(figure: Figure) -> None:
        above, below = figure.subplots(
            2, 1, sharex=True, gridspec_kw={"height_ratios": (2.6, 1.0), "hspace": 0.08}
        )
        thin = slice(None, None, max(1, math.ceil(len(fit.time) / SAMPLES)))
        begin = fit.time[0] if far_from_zero(fit.time) else 0.0
        t, y = fit.time[thin] - begin, fit.measured[thin, column]
        dots = {"marker": "o", "markersize": 2.2, "linestyle": "", "markeredgewidth": 0.0}
        above.plot(t, y, color=DATA, alpha=0.55, label="measured", **dots)
        above.plot(t, fit.outputs[thin, column], color=ORANGE, linewidth=1.5, label="predicted")
        above.set_ylabel(f"{channel.name} [{channel.unit}]")
        above.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.1)
        r = fit.residuals[thin, column]
        below.axhspan(-2.0, 2.0, color=BLUE, alpha=0.1, linewidth=0.0)
        below.axhline(0.0, color=GRAY, linewidth=0.6)
        below.plot(t, r, color=BLUE, **dots)
        reach = max(3.2, 1.08 * float(np.nanmax(np.abs(r), initial=0.0)))
        below.set_ylim(-reach, reach)
        below.set_ylabel("residual [σ]")
        below.set_xlabel("time after the start [s]" if begin else "time [s]")
        below.margins(x=0.01)

    return svg(9.2, 3.1, draw)
