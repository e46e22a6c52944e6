"""Figure of one channel: measured and predicted with its band, and the residuals."""

from __future__ import annotations

import math

import numpy as np

from sofa_softctl.base.axes import Figure
from sofa_softctl.base.colors import GRAY
from sofa_softctl.identification.fitting.residual import Fit
from sofa_softctl.identification.uncertainty.prediction import PredictionBand
from sofa_softctl.identification.uncertainty.residual_analysis import far_from_zero
from sofa_softctl.view.report.identification.figures.style import BLUE, DATA, ORANGE, SAMPLES
from sofa_softctl.view.report.svg import svg

DOTS = {"marker": "o", "markersize": 2.2, "linestyle": "", "markeredgewidth": 0.0}


def fit_figure(fit: Fit, column: int, band: PredictionBand) -> str:
    """One channel: measured and predicted with its 95 % band; residuals in deviations below."""
    channel = fit.channels[column]

    def draw(figure: Figure) -> None:
        draw_fit(figure, fit, column, band)

    moved = f"{np.nanmin(fit.outputs[:, column]):.3g} to {np.nanmax(fit.outputs[:, column]):.3g}"
    alt = (
        f"{channel.name} of {fit.name} over {fit.time[-1] - fit.time[0]:.3g} s: predicted from "
        f"{moved} {channel.unit}, with a 95 % band and what was measured; residuals below."
    )
    return svg(9.2, 3.3, draw, alt)


def draw_fit(figure: Figure, fit: Fit, column: int, band: PredictionBand) -> None:
    """Draw measured and predicted outputs of a channel, its band, and residuals below."""
    channel, deviation = fit.channels[column], fit.deviations[column]
    above, below = figure.subplots(
        2, 1, sharex=True, gridspec_kw={"height_ratios": (2.6, 1.0), "hspace": 0.08}
    )
    thin = slice(None, None, max(1, math.ceil(len(fit.time) / SAMPLES)))
    begin = fit.time[0] if far_from_zero(fit.time) else 0.0
    t, y = fit.time[thin] - begin, fit.measured[thin, column]
    half = np.where(np.isfinite(band.half_width), band.half_width, np.nan)[:, column]
    there, middle = fit.time[band.at] - begin, fit.outputs[band.at, column]
    shade = {"color": ORANGE, "alpha": 0.2, "linewidth": 0.0}
    above.fill_between(there, middle - half, middle + half, label="95 % band", **shade)
    above.plot(t, fit.outputs[thin, column], color=ORANGE, linewidth=1.2, label="predicted")
    above.plot(t, y, color=DATA, alpha=0.75, label="measured", **DOTS)
    above.set_ylabel(f"{channel.name} [{channel.unit}]")
    above.legend(
        loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.1, markerscale=2.0
    )
    r = fit.residuals[thin, column]
    below.fill_between(there, -half / deviation, half / deviation, **shade)
    below.axhline(0.0, color=GRAY, linewidth=0.6)
    below.plot(t, r, color=BLUE, **DOTS)
    most = max(float(np.nanmax(np.abs(r), initial=0.0)), 1.2 * _median(half) / deviation)
    below.set_ylim(-max(3.2, 1.08 * most), max(3.2, 1.08 * most))
    below.set_ylabel("residual [σ]")
    below.set_xlabel("time after the start [s]" if begin else "time [s]")
    below.margins(x=0.01)
    figure.align_ylabels()


def _median(half: np.ndarray) -> float:
    return float(np.nanmedian(half)) if np.isfinite(half).any() else 0.0
