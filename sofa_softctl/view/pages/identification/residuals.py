"""Section on residuals, with figures over time windows, distribution and autocorrelation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from sofa_softctl.base.axes import Figure
from sofa_softctl.base.colors import GRAY, PALETTE
from sofa_softctl.identification.fitting.residual import Fit
from sofa_softctl.identification.report.report import Report
from sofa_softctl.identification.uncertainty.residual_analysis import (
    LAGS,
    ChannelResiduals,
    correlations,
    far_from_zero,
)
from sofa_softctl.view.pages import html
from sofa_softctl.view.pages.identification.style import BESIDE, INK_ON_COLOR, ORANGE
from sofa_softctl.view.pages.svg import svg


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
            if fit.is_measured[:, k].sum() > LAGS
        ][:6]
        most = max((int(fit.is_measured[:, k].sum()) for fit, k, _ in columns), default=1)
        reach = 2.0 / math.sqrt(
            min((int(f.is_measured[:, k].sum()) for f, k, _ in columns), default=1)
        )
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


ROWS = 12
"""Most rows of channels that noise explains; more are folded."""
NOTHING = 1e-4
"""Residuals below this many deviations are rounding, shown as 0."""


def residuals(report: Report) -> str:
    """Residuals of each channel in numbers, over time windows, and their distribution."""
    several = len(report.estimate.fits) + len(report.validations) > 1
    channels = [(one, "fitted") for one in report.residuals]
    channels += [(one, "held out") for one in report.held_out]
    through = any(one.through_inputs for one, _ in channels)
    channels.sort(key=lambda pair: pair[0].right)  # stable: those that are wrong first
    rows = [
        [
            escape(_label(one, several)),
            kind,
            f"{one.count:,}",
            f"{one.rms:.2f}",
            *([f"{one.expected:.2f}"] if through else []),
            f"{one.rms_unit if one.rms > NOTHING else 0.0:.3g} {escape(one.unit)}",
            f"{one.mean:+.2f}",
            f"{one.autocorrelation:+.2f}",
            "yes" if one.right else "<b>no</b>" if one.judged else "not known",
        ]
        for one, kind in channels
    ]
    heads = ["channel", "data", "n:samples", "n:RMS [σ]", *(["n:by noise [σ]"] if through else [])]
    heads += ["n:RMS", "n:mean [σ]", "n:correlation", "noise explains it"]
    shown = [(one, kind) for one, kind in channels if one.count]
    labels = [_label(one, several) + (f", {kind}" * (kind != "fitted")) for one, kind in shown]
    open_ = (
        max(ROWS, sum(not one.right for one, _ in channels))
        if len(channels) > ROWS + 3
        else len(channels)
    )
    body = html.table(heads, rows[:open_])
    body += _windows(shown[:open_], labels[:open_])
    if rows[open_:]:
        inner = html.table(heads, rows[open_:]) + _windows(shown[open_:], labels[open_:])
        body += html.details(f"{len(rows) - open_} more channels, which noise explains", inner)
    body += html.figure(
        noise_figure(report.estimate.fits),
        "Distribution and autocorrelation of the residuals of the fitted data.",
        wide=True,
    )
    note = "Correlation: of the residuals of successive samples."
    if through:
        note += (
            " By noise: RMS residual of a correct model with noise of inputs and outputs, the mean "
            f"of {report.draws} draws; residuals are tested against their spread."
        )
    return html.section("Residuals", body, note)


def _windows(shown: Sequence[tuple[ChannelResiduals, str]], labels: Sequence[str]) -> str:
    if not shown:
        return ""
    return html.figure(
        windows_figure([one for one, _ in shown], labels),
        "RMS residual in each time window, in standard deviations of the outputs' noise: about 1 "
        "for a correct model with exact inputs.",
        wide=True,
    )


def _label(one: ChannelResiduals, several: bool) -> str:
    return f"{one.experiment}: {one.channel}" if several else one.channel
