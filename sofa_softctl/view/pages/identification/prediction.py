"""Section on measured and predicted motion, held out and fitted, with its figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from sofa_softctl.base.axes import Figure
from sofa_softctl.base.colors import GRAY
from sofa_softctl.identification.fitting.residual import Fit
from sofa_softctl.identification.report.interval_diagnostics import inside
from sofa_softctl.identification.report.report import Report
from sofa_softctl.identification.uncertainty.prediction import PredictionBand
from sofa_softctl.identification.uncertainty.residual_analysis import far_from_zero
from sofa_softctl.view.pages import html
from sofa_softctl.view.pages.identification.style import BLUE, DATA, ORANGE, SAMPLES_MAX
from sofa_softctl.view.pages.svg import svg
from sofa_softctl.view.words import plural

DOTS = {"marker": "o", "markersize": 2.2, "linestyle": "", "markeredgewidth": 0.0}


def fit_figure(fit: Fit, column: int, band: PredictionBand) -> str:
    """Return a figure of a channel: measured, predicted with its 95 % band, and residuals below."""
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
    thin = slice(None, None, max(1, math.ceil(len(fit.time) / SAMPLES_MAX)))
    begin = fit.time[0] if far_from_zero(fit.time) else 0.0
    t, y = fit.time[thin] - begin, fit.measured[thin, column]
    half = np.where(np.isfinite(band.half_width), band.half_width, np.nan)[:, column]
    band_times, middle = fit.time[band.at] - begin, fit.outputs[band.at, column]
    shade = {"color": ORANGE, "alpha": 0.2, "linewidth": 0.0}
    above.fill_between(band_times, middle - half, middle + half, label="95 % band", **shade)
    above.plot(t, fit.outputs[thin, column], color=ORANGE, linewidth=1.2, label="predicted")
    above.plot(t, y, color=DATA, alpha=0.75, label="measured", **DOTS)
    above.set_ylabel(f"{channel.name} [{channel.unit}]")
    above.legend(
        loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.1, markerscale=2.0
    )
    r = fit.residuals[thin, column]
    below.fill_between(band_times, -half / deviation, half / deviation, **shade)
    below.axhline(0.0, color=GRAY, linewidth=0.6)
    below.plot(t, r, color=BLUE, **DOTS)
    residual_max = max(float(np.nanmax(np.abs(r), initial=0.0)), 1.2 * _median(half) / deviation)
    below.set_ylim(-max(3.2, 1.08 * residual_max), max(3.2, 1.08 * residual_max))
    below.set_ylabel("residual [σ]")
    below.set_xlabel("time after the start [s]" if begin else "time [s]")
    below.margins(x=0.01)
    figure.align_ylabels()


def _median(half: np.ndarray) -> float:
    return float(np.nanmedian(half)) if np.isfinite(half).any() else 0.0


CHANNELS_MAX, OPEN_MAX = 12, 6
"""Maximum number of drawn channels, and of open ones among them; the tables have all."""


class Column(NamedTuple):
    """Channel of a recording."""

    fit: Fit
    """Recording with its prediction."""
    number: int
    """Number of the column."""
    band: PredictionBand
    """Band of predictions of the recording."""
    held_out: bool
    """Whether the recording was not fitted."""


def prediction(report: Report) -> str:
    """Return the section on measured and predicted outputs of the most informative channels."""
    columns = _columns(report)
    is_wrong = [not r.right for r in (*report.residuals, *report.held_out) if r.count]
    missed = [float(np.nanmean(fit.residuals[:, k] ** 2)) for fit, k, _, _ in columns]
    moved = [float(np.nanstd(fit.measured[:, k]) / fit.deviations[k]) for fit, k, _, _ in columns]
    shown = most_informative(missed, moved, is_wrong)
    shown.sort(key=lambda n: not columns[n].held_out)  # stable
    figures = [_figure(columns[n]) for n in shown]
    body = _inside_text(report) + "".join(figures[:OPEN_MAX])
    if figures[OPEN_MAX:]:
        title = f"{len(figures) - OPEN_MAX} more channels"
        body += html.details(title, "".join(figures[OPEN_MAX:]))
    return html.section("Measured and predicted", body + html.note(_note(report, columns, shown)))


def _columns(report: Report) -> list[Column]:
    """Return the channels with samples: fitted ones, then held-out ones."""
    bands = report.predictions
    fitted = list(zip(report.estimate.fits, bands.fitted, strict=True))
    held_out = [
        (item.fit, band) for item, band in zip(report.validations, bands.held_out, strict=True)
    ]
    return [
        Column(fit, k, band, number >= len(fitted))
        for number, (fit, band) in enumerate(fitted + held_out)
        for k in range(len(fit.channels))
        if fit.is_measured[:, k].any()
    ]


def _inside_text(report: Report) -> str:
    """Return the number of held-out samples inside the band as text, or ""."""
    text = inside(report)
    return f"<p><b>{escape(text)}</b></p>" if text else ""


def _note(report: Report, columns: Sequence[Column], shown: Sequence[int]) -> str:
    noise = "errors of the parameters and noise of outputs"
    bands = (*report.predictions.fitted, *report.predictions.held_out)
    if report.draws:
        noise = "errors of the parameters, noise of outputs and noise of recorded inputs"
    text = f"Band: where 95 % of the measurements of a correct model are, by {noise}."
    if not all(band.complete for band in bands):
        text += " It has no noise of recorded inputs, whose effect is not known."
    if any(np.isinf(band.half_width).any() for band in bands):
        text += " It is not drawn if the data do not determine the prediction."
    hidden_count = len(columns) - len(shown)
    if hidden_count or len(shown) > OPEN_MAX:
        text += (
            " Drawn: channels that noise does not explain, largest residuals first, and those that "
            "move most" + (f"; {plural(hidden_count, 'more')} not drawn." if hidden_count else ".")
        )
    return text


def most_informative(
    missed: Sequence[float], moved: Sequence[float], is_wrong: Sequence[bool]
) -> list[int]:
    """Return the channels to draw: in turns, wrong ones by residual, and all by motion.

    Args:
        missed: Mean square residual of each channel.
        moved: Motion of each channel, in deviations.
        is_wrong: True if noise does not explain the residuals of a channel.
    """
    everything = range(len(missed))
    by_miss = sorted((n for n in everything if is_wrong[n]), key=lambda n: -missed[n])
    by_motion = sorted(everything, key=lambda n: -moved[n])
    turns = [n for pair in zip_longest(by_miss, by_motion) for n in pair if n is not None]
    return list(dict.fromkeys(turns))[:CHANNELS_MAX]


def _figure(column: Column) -> str:
    fit, k, band, held_out = column
    name = f"{fit.name}, {fit.channels[k].name}"
    percent = f"{band.inside[k] / band.samples[k]:.0%}".replace("%", " %")
    caption = (
        f"{'Held out' if held_out else 'Fitted'}: {name}. {percent} of {band.samples[k]:,} samples "
        "are inside the band."
    )
    return html.figure(fit_figure(fit, k, band), caption, wide=True)
