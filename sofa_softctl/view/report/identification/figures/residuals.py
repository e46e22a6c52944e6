"""Figures of residuals: over time windows, distribution and autocorrelation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sofa_softctl.base.axes import Figure
from sofa_softctl.base.colors import GRAY, PALETTE
from sofa_softctl.identification.fitting.residual import Fit
from sofa_softctl.identification.uncertainty.residual_analysis import (
    LAGS,
    ChannelResiduals,
    correlations,
    far_from_zero,
)
from sofa_softctl.view.report.identification.figures.style import BESIDE, INK_ON_COLOR, ORANGE
from sofa_softctl.view.report.svg import svg


def windows_figure(residuals: Sequence[ChannelResiduals], labels: Sequence[str]) -> str:
    """RMS residual of each channel in each time window."""

    def draw(figure: Figure) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        shades = LinearSegmentedColormap.from_list("wrong", ["#f4f7fa", "#fbd9a8", ORANGE])
        axes = figure.subplots()
        values = np.array([one.windows for one in residuals])
        axes.imshow(values, cmap=shades, vmin=1.0, vmax=5.0, aspect="auto")
        for (i, j), value in np.ndenumerate(values):
            text = "–" if np.isnan(value) else f"{value:.1f}" if value < 99.5 else f"{value:.0f}"
            axes.text(j, i, text, ha="center", va="center", fontsize=8, color=INK_ON_COLOR)
        axes.set_yticks(range(len(residuals)), labels)
        edges = residuals[0].edges
        same = all(np.array_equal(one.edges, edges) for one in residuals)
        begin = edges[0] if far_from_zero(edges) else 0.0
        shown = edges - begin if same else np.linspace(0.0, 1.0, len(edges))
        axes.set_xticks(np.arange(len(edges)) - 0.5, [f"{edge:.3g}" for edge in shown])
        time = "time after the start [s]" if begin else "time [s]"
        axes.set_xlabel(time if same else "share of each recording's time")
        axes.grid(False)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)

    alt = "RMS residual [σ] of each channel in each time window; largest: " + "; ".join(
        f"{label} {np.nanmax(one.windows):.1f}"
        for one, label in zip(residuals, labels, strict=True)
    )
    return svg(9.2, 0.75 + 0.3 * len(residuals), draw, alt)


def noise_figure(fits: Sequence[Fit]) -> str:
    """Distribution and autocorrelation of the residuals."""

    def draw(figure: Figure) -> None:
        spread, lags = figure.subplots(1, 2)
        edges = np.linspace(-5.0, 5.0, 26)
        x = np.linspace(-5.0, 5.0, 200)
        columns = [
            (fit, k, f"{fit.name}: {one.name}" if len(fits) > 1 else one.name)
            for fit in fits
            for k, one in enumerate(fit.channels)
            if fit.there[:, k].sum() > LAGS
        ][:6]
        most = max((int(fit.there[:, k].sum()) for fit, k, _ in columns), default=1)
        reach = 2.0 / math.sqrt(min((int(f.there[:, k].sum()) for f, k, _ in columns), default=1))
        lags.axhspan(-reach, reach, color=GRAY, alpha=0.12, linewidth=0.0)
        for (fit, k, name), color in zip(columns, PALETTE, strict=False):
            r = fit.residuals[:, k]
            there = np.clip(r[np.isfinite(r)], -4.99, 4.99)
            spread.hist(there, edges, density=True, histtype="step", color=color, linewidth=1.3)
            c = correlations(r, min(LAGS, most // 5))
            lags.plot(range(1, len(c) + 1), c, "o-", color=color, markersize=3.0, linewidth=1.0)
            lags.plot([], [], color=color, label=name)
        spread.plot(x, np.exp(-0.5 * x**2) / math.sqrt(2.0 * math.pi), color=GRAY, linewidth=1.0)
        spread.set_xlabel("residual [σ]; line: normal")
        spread.set_ylabel("density [1/σ]")
        lags.set_xlabel("lag [samples]; band: independent noise")
        lags.set_ylabel("correlation [-]")
        lags.xaxis.get_major_locator().set_params(integer=True)
        lags.set_ylim(-1.0, 1.0)
        lags.legend(**BESIDE)

    alt = "Histogram of the residuals beside the normal density; their correlation over 20 lags."
    return svg(9.2, 2.5, draw, alt)
