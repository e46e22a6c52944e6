"""Section on residuals: where the model is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from sofa_softctl.identification.report.report import Report
from sofa_softctl.identification.uncertainty.residual_analysis import ChannelResiduals
from sofa_softctl.view.report import html
from sofa_softctl.view.report.identification.figures.residuals import noise_figure, windows_figure

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
        body += html.folded(f"{len(rows) - open_} more channels, which noise explains", inner)
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
