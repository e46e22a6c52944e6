"""Figures of identification reports, as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sofa_softctl._internal.axes import Axes, Figure
from sofa_softctl._internal.colors import GRAY, PALETTE
from sofa_softctl.identification.fitting.residual import Fit
from sofa_softctl.identification.fitting.steepest_descent import Descent
from sofa_softctl.identification.parameter import Parameter
from sofa_softctl.identification.uncertainty.identifiability import Identifiability
from sofa_softctl.identification.uncertainty.residual_analysis import (
    LAGS,
    ChannelResiduals,
    correlations,
    far_from_zero,
)
from sofa_softctl.view.report.svg import svg

BLUE, ORANGE = PALETTE[0], PALETTE[5]
SAMPLES = 1500
"""More samples than this are thinned for a plot, gaps kept."""
PATH = 400
"""The same for paths, of which there is one for each iteration."""
BESIDE: dict[str, Any] = {"fontsize": 7.5, "loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
"""A legend that hides nothing."""


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
        above.plot(t, y, color="#3a424a", alpha=0.55, label="measured", **dots)
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
            axes.text(j, i, text, ha="center", va="center", fontsize=8, color="#2a3138")
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

    return svg(9.2, 0.75 + 0.3 * len(residuals), draw)


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

    return svg(9.2, 2.5, draw)


def correlation_figure(trust: Identifiability, parameters: Sequence[Parameter]) -> str:
    """Correlation of the parameters, and the ellipse of the most correlated pair."""
    there = np.isfinite(np.diag(trust.correlation))
    names = [name for name, is_there in zip(trust.names, there, strict=True) if is_there]
    C = trust.correlation[np.ix_(there, there)]

    def draw(figure: Figure) -> None:
        matrix, plane = figure.subplots(1, 2, gridspec_kw={"width_ratios": (1.0, 1.3)})
        matrix.imshow(C, cmap="RdBu_r", vmin=-1.4, vmax=1.4)
        if len(C) <= 12:
            for (i, j), value in np.ndenumerate(C):
                ink = "white" if abs(value) > 0.85 else "#2a3138"
                text = "1" if i == j else f"{value:+.{1 if len(C) > 6 else 2}f}"
                matrix.text(j, i, text, ha="center", va="center", fontsize=7.5, color=ink)
        matrix.set_xticks(range(len(C)), names, rotation=30, ha="right")
        matrix.set_yticks(range(len(C)), names)
        matrix.set_title("correlation of errors", fontsize=8.5, color=GRAY)
        matrix.grid(False)
        matrix.tick_params(length=0)
        _ellipses(plane, trust, [_labelled(one) for one in parameters], np.flatnonzero(there), C)

    return svg(9.2, max(2.9, 0.9 + 0.32 * len(names)), draw)


def noise_share_figure(trust: Identifiability, rho: np.ndarray) -> str:
    """Deviation of each parameter, from noise of outputs and of inputs."""
    there = np.isfinite(trust.deviations) & (rho != 0.0)
    names = [name for name, is_there in zip(trust.names, there, strict=True) if is_there]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        size = 100.0 / np.abs(rho[there])
        rows = np.arange(len(names))
        parts = {
            "output noise": (np.sqrt(np.diag(trust.output_covariance))[there], BLUE),
            "input noise": (np.sqrt(np.diag(trust.input_covariance))[there], PALETTE[1]),
            "both": (trust.deviations[there], GRAY),
        }
        for k, (label, (values, color)) in enumerate(parts.items()):
            axes.barh(rows + 0.26 * (k - 1), values * size, 0.22, color=color, label=label)
        axes.set_yticks(rows, names)
        axes.invert_yaxis()
        axes.set_xlabel("standard deviation [% of the value]")
        axes.grid(False, axis="y")
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.1)

    return svg(9.2, 0.9 + 0.42 * len(names), draw)


def descent_figure(descent: Descent, fits: Sequence[Fit]) -> str:
    """Cost, gradient and parameters over iterations, as in the paper's Fig. 4, and the path."""

    def draw(figure: Figure) -> None:
        cost, gradient, path = figure.subplots(1, 3)
        steps = range(len(descent.iterates))
        cost.plot(steps, [one.cost for one in descent.iterates], color=ORANGE)
        units = dict.fromkeys(channel.unit for fit in fits for channel in fit.channels)
        squared = f"{next(iter(units))}²" if len(units) == 1 else "squared units of the outputs"
        cost.set_ylabel(f"cost $J_d$ [{squared}]")
        gradient.semilogy(steps, [one.gradient_norm for one in descent.iterates], color=BLUE)
        gradient.set_ylabel("gradient norm [cost / unit]")
        rho = np.array([one.rho for one in descent.iterates])
        for column, parameter, color in zip(rho.T, descent.parameters, PALETTE, strict=False):
            path.plot(steps, column, color=color, label=_labelled(parameter))
        path.set_ylabel("parameters [see legend]")
        path.legend(**BESIDE)
        for axes in (cost, gradient, path):
            axes.set_xlabel("iteration")
            axes.xaxis.get_major_locator().set_params(integer=True)

    return svg(9.2, 2.5, draw)


def outputs_figure(descent: Descent, fits: Sequence[Fit]) -> str:
    """Outputs of each iteration, light to dark, and as measured, as in the paper's Fig. 5."""
    fit = fits[0]
    moving = np.argsort([-np.ptp(column) for column in fit.outputs.T])
    first = int(moving[0])
    alike = [int(k) for k in moving[1:] if fit.channels[k].unit == fit.channels[first].unit]

    def draw(figure: Figure) -> None:
        from matplotlib import colormaps

        axes = figure.subplots()
        last = max(len(descent.iterates) - 1, 1)
        thin = slice(None, None, max(1, math.ceil(len(fit.time) / PATH)))
        for k, one in enumerate(descent.iterates):
            y = one.outputs[0][thin]
            x = y[:, alike[0]] if alike else fit.time[thin]
            shade = colormaps["YlOrBr"](0.2 + 0.6 * k / last)
            axes.plot(x, y[:, first], color=shade, linewidth=0.8)
        x = fit.measured[:, alike[0]] if alike else fit.time
        axes.plot(x, fit.measured[:, first], color="black", linewidth=1.1, label="measured")
        channel = fit.channels[first]
        axes.set_ylabel(f"{channel.name} [{channel.unit}]")
        other = fit.channels[alike[0]] if alike else None
        axes.set_xlabel(f"{other.name} [{other.unit}]" if other else "time [s]")
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.1)

    return svg(9.2, 4.2 if alike else 2.8, draw)


def _ellipses(
    axes: Axes, trust: Identifiability, labels: Sequence[str], at: np.ndarray, C: np.ndarray
) -> None:
    """95 % region of the most correlated pair: of output noise, and of both."""
    from scipy import stats

    off = np.abs(C - np.diag(np.diag(C)))
    i, j = (int(at[k]) for k in np.unravel_index(off.argmax(), off.shape))
    turn = np.linspace(0.0, 2.0 * math.pi, 181)
    circle = np.array([np.cos(turn), np.sin(turn)]) * math.sqrt(stats.chi2.ppf(0.95, 2))
    middle = np.array([[(trust.low[k] + trust.high[k]) / 2.0] for k in (i, j)])
    kinds = [("output noise", trust.output_covariance, BLUE, "--")]
    if trust.input_covariance.any():
        kinds.append(("with input noise", trust.covariance, PALETTE[1], "-"))
    for label, covariance, color, line in kinds:
        part = covariance[np.ix_((i, j), (i, j))]
        values, vectors = np.linalg.eigh(part)
        x, y = middle + vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * circle)
        axes.fill(x, y, color=color, alpha=0.12)
        axes.plot(x, y, line, color=color, linewidth=1.2, label=label)
    axes.plot(*middle, "+", color=GRAY)
    axes.set_xlabel(labels[i])
    axes.set_ylabel(labels[j])
    axes.set_title("95 % region of the pair most alike", fontsize=8.5, color=GRAY)
    axes.legend(**BESIDE)


def _labelled(parameter: Parameter) -> str:
    return f"{parameter.name} [{parameter.unit}]" if parameter.unit else parameter.name
