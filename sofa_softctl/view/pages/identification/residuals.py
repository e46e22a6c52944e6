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
    """Return a figure of the RMS residual of each channel in each time window."""

    def draw(figure: Figure) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        shades = LinearSegmentedColormap.from_list("wrong", ["#f4f7fa", "#fbd9a8", ORANGE])
        axes = figure.subplots()
        values = np.array([channel.windows for channel in residuals])
        axes.imshow(values, cmap=shades, vmin=1.0, vmax=5.0, aspect="auto")
        for (i, j), value in np.ndenumerate(values):
            text = "–" if np.isnan(value) else f"{value:.1f}" if value < 99.5 else f"{value:.0f}"
            axes.text(j, i, text, ha="center", va="center", fontsize=8, color=INK_ON_COLOR)
        axes.set_yticks(range(len(residuals)), labels)
        edges = residuals[0].edges
        is_same = all(np.array_equal(channel.edges, edges) for channel in residuals)
        begin = edges[0] if far_from_zero(edges) else 0.0
        shown = edges - begin if is_same else np.linspace(0.0, 1.0, len(edges))
        axes.set_xticks(np.arange(len(edges)) - 0.5, [f"{edge:.3g}" for edge in shown])
        time = "time after the start [s]" if begin else "time [s]"
        axes.set_xlabel(time if is_same else "share of each recording's time")
        axes.grid(False)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)

    alt = "RMS residual [σ] of each channel in each time window; largest: " + "; ".join(
        f"{label} {np.nanmax(channel.windows):.1f}"
        for channel, label in zip(residuals, labels, strict=True)
    )
    return svg(9.2, 0.75 + 0.3 * len(residuals), draw, alt)


def noise_figure(fits: Sequence[Fit]) -> str:
    """Return a figure of the distribution and autocorrelation of the residuals."""

    def draw(figure: Figure) -> None:
        spread, lags = figure.subplots(1, 2)
        edges = np.linspace(-5.0, 5.0, 26)
        x = np.linspace(-5.0, 5.0, 200)
        columns = [
            (fit, k, f"{fit.name}: {channel.name}" if len(fits) > 1 else channel.name)
            for fit in fits
            for k, channel in enumerate(fit.channels)
            if fit.is_measured[:, k].sum() > LAGS
        ][:6]
        count_max = max((int(fit.is_measured[:, k].sum()) for fit, k, _ in columns), default=1)
        band = 2.0 / math.sqrt(
            min((int(f.is_measured[:, k].sum()) for f, k, _ in columns), default=1)
        )
        lags.axhspan(-band, band, color=GRAY, alpha=0.12, linewidth=0.0)
        for (fit, k, name), color in zip(columns, PALETTE, strict=False):
            r = fit.residuals[:, k]
            finite = np.clip(r[np.isfinite(r)], -4.99, 4.99)
            spread.hist(finite, edges, density=True, histtype="step", color=color, linewidth=1.3)
            c = correlations(r, min(LAGS, count_max // 5))
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


def residuals(report: Report) -> str:
    """Return the section on residuals: numbers, time windows, distribution."""
    several = len(report.estimate.fits) + len(report.validations) > 1
    channels = [(channel, "fitted") for channel in report.residuals]
    channels += [(channel, "held out") for channel in report.held_out]
    by_inputs = any(channel.through_inputs for channel, _ in channels)
    channels.sort(key=lambda pair: pair[0].right)  # stable: those that are wrong first
    rows = [
        [
            escape(_label(channel, several)),
            kind,
            f"{channel.count:,}",
            f"{channel.rms:.2f}",
            *([f"{channel.expected:.2f}"] if by_inputs else []),
            f"{channel.rms_unit if channel.rms > 1e-4 else 0.0:.3g} {escape(channel.unit)}",
            f"{channel.mean:+.2f}",
            f"{channel.autocorrelation:+.2f}",
            "yes" if channel.right else "<b>no</b>" if channel.judged else "not known",
        ]
        for channel, kind in channels
    ]
    heads = ["channel", "data", "n:samples", "n:RMS [σ]", *["n:by noise [σ]"] * by_inputs]
    heads += ["n:RMS", "n:mean [σ]", "n:correlation", "noise explains it"]
    shown = [(channel, kind) for channel, kind in channels if channel.count]
    labels = [_label(r, several) + (f", {kind}" * (kind != "fitted")) for r, kind in shown]
    n_open = len(channels)
    if n_open > 15:  # channels that noise explains are opened by a click
        n_open = max(12, sum(not channel.right for channel, _ in channels))
    body = html.table(heads, rows[:n_open])
    body += _windows(shown[:n_open], labels[:n_open])
    if rows[n_open:]:
        tables = html.table(heads, rows[n_open:]) + _windows(shown[n_open:], labels[n_open:])
        body += html.details(f"{len(rows) - n_open} more channels, which noise explains", tables)
    body += html.figure(
        noise_figure(report.estimate.fits),
        "Distribution and autocorrelation of the residuals of the fitted data.",
        wide=True,
    )
    note = "Correlation: of the residuals of successive samples."
    if by_inputs:
        note += (
            " By noise: RMS residual of a correct model with noise of inputs and outputs, the mean "
            f"of {report.draws} draws; residuals are tested against their spread."
        )
    return html.section("Residuals", body, note)


def _windows(shown: Sequence[tuple[ChannelResiduals, str]], labels: Sequence[str]) -> str:
    if not shown:
        return ""
    return html.figure(
        windows_figure([channel for channel, _ in shown], labels),
        "RMS residual in each time window, in standard deviations of the outputs' noise: about 1 "
        "for a correct model with exact inputs.",
        wide=True,
    )


def _label(channel: ChannelResiduals, several: bool) -> str:
    return f"{channel.experiment}: {channel.channel}" if several else channel.channel
