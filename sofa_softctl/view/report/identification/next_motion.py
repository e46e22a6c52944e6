"""Section on what to record next."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from sofa_softctl.identification.design.design import Design
from sofa_softctl.identification.report.report import Report
from sofa_softctl.view.report import html
from sofa_softctl.view.report.identification.figures.motion import intervals_figure, motion_figure


def next_motion(report: Report) -> str:
    """The designed motion, and candidates by information; empty without any."""
    if not report.candidates:
        return ""
    units = {one.name: one.unit for one in report.estimate.parameters}
    names = short_names([one.name for one in report.candidates])
    possible = [k for k, one in enumerate(report.candidates) if np.isfinite(one.gain)]
    body = _designed(report.design) if report.design else ""
    if possible:
        drawn = [report.candidates[k] for k in possible]
        figure = intervals_figure(drawn, [names[k] for k in possible], units)
        body += html.figure(figure, "Intervals to be expected if the model is right.", wide=True)
    body += _table(report, names, units)
    return html.section("What to record next", body + html.note(_note(report)))


def short_names(names: Sequence[str]) -> list[str]:
    """Names without their folders, where these are not needed to tell them apart."""
    files = [Path(name).name for name in names]
    return files if len(set(files)) == len(files) else list(names)


def _designed(design: Design) -> str:
    """The motion to command, in words and drawn."""
    drawn = [gain for gain in design.gains if np.isfinite(gain)]
    limits = "; ".join(
        f"{one.name} {one.low:.4g} to {one.high:.4g} {one.unit}, at most {one.rate:.3g} "
        f"{one.unit}/s" + (" (as given)" if one.widened else "")
        for one in design.limits
        if one.high > one.low
    )
    text = (
        f"<b>{escape(design.candidate.name)}</b> is the motion to command: {design.family}, of "
        f"{design.time[-1]:.4g} s, the most informative of {design.evaluations}. It adds "
        f"{design.candidate.gain:.2f} nats; the median of drawn motions {np.median(drawn):.2f}"
        f", and {escape(design.again.name)} {design.again.gain:.2f}."
    )
    whose = (
        "Limits, each input by itself, are those of the recordings. Whether the robot bears inputs "
        "together is not known here: check the motion before it is commanded."
    )
    figure = html.figure(motion_figure(design), f"Motion to command: {limits}.", wide=True)
    return f"<p>{text}</p>{figure}{html.note(whose)}"


def _table(report: Report, names: Sequence[str], units: dict[str, str]) -> str:
    candidates = report.candidates
    heads = ["", "n:as it is", *(f"n:{name}" for name in names)]
    gains = [
        f"{one.gain:.2f}" if np.isfinite(one.gain) else "cannot be simulated" for one in candidates
    ]
    rows = [["<b>information added [nats]</b>", "", *gains]]
    for name, now in candidates[0].half_widths_now.items():
        widths = [f"{one.half_widths[name]:.3g}" for one in candidates]
        rows.append([f"± {escape(name)} {escape(units[name])}", f"{now:.3g}", *widths])
    return html.table(heads, rows)


def _note(report: Report) -> str:
    text = (
        "Motions by the information that recording them would add (D-optimal), with the expected "
        "half-width of the 95 % interval afterwards, noise of inputs included. Parameters that the "
        "data do not depend on have a prior of ten times their scale."
    )
    if report.distrust:
        text += " These forecasts are of a model that is not to be trusted."
    if report.trust.input_covariance.any():
        text += (
            " Samples are weighted by noise of outputs alone: with noisy inputs more data can make "
            "an estimate worse, and information is negative."
        )
    return text
