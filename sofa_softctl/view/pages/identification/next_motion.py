"""Section on what to record next, with figures of the motion and of the intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

import numpy as np

from sofa_softctl.base.axes import Axes, Figure
from sofa_softctl.base.colors import GRAY, PALETTE
from sofa_softctl.identification.data.units import quantity
from sofa_softctl.identification.design.design import Design
from sofa_softctl.identification.design.limits import InputLimits
from sofa_softctl.identification.report.report import Report
from sofa_softctl.identification.uncertainty.experiment_design import Candidate
from sofa_softctl.view.pages import html
from sofa_softctl.view.pages.identification.style import BESIDE, BLUE, ORANGE, SAMPLES_MAX
from sofa_softctl.view.pages.svg import svg

PANELS_MAX, LINES_MAX = 4, 6
"""Maximum number of panels of inputs, and of outputs, and of lines in a panel."""


def motion_figure(design: Design) -> str:
    """Return a figure of the inputs to command within their limits, and the predicted outputs."""
    alt = (
        f"Designed motion, {design.family}, of {design.time[-1]:.3g} s: "
        + "; ".join(
            f"{u.name} from {u.low:.3g} to {u.high:.3g} {u.unit}" for u in _varied_inputs(design)
        )
        + "; predicted outputs below."
    )
    panels = len(_varied_inputs(design)[:PANELS_MAX]) + len(_units(design)[:PANELS_MAX])
    return svg(9.2, 0.6 + 1.25 * panels, lambda figure: draw_motion(figure, design), alt)


def draw_motion(figure: Figure, design: Design) -> None:
    """Draw inputs, a panel each, and predicted outputs, a panel for each unit."""
    inputs, units = _varied_inputs(design)[:PANELS_MAX], _units(design)[:PANELS_MAX]
    panels = figure.subplots(len(inputs) + len(units), 1, sharex=True, squeeze=False)[:, 0]
    thin = slice(None, None, max(1, math.ceil(len(design.time) / SAMPLES_MAX)))
    t = design.time[thin]
    for axes, limit in zip(panels, inputs, strict=False):
        k = design.limits.index(limit)
        axes.axhspan(limit.low, limit.high, color=GRAY, alpha=0.08, linewidth=0.0, label="allowed")
        axes.step(
            t, design.inputs[thin, k], where="post", color=BLUE, linewidth=1.2, label="command"
        )
        axes.set_ylabel(f"{limit.name}\n[{limit.unit}]")
    for axes, unit in zip(panels[len(inputs) :], units, strict=True):
        indices = [k for k, channel in enumerate(design.channels) if channel.unit == unit]
        for k, color in zip(indices[:LINES_MAX], (ORANGE, *PALETTE[1:]), strict=False):
            name = f"{design.channels[k].name}, predicted"
            axes.plot(t, design.outputs[thin, k], color=color, linewidth=1.2, label=name)
        names = design.channels[indices[0]].name if len(indices) == 1 else "predicted"
        axes.set_ylabel(f"{names}\n[{unit}]")
    for axes in panels:
        axes.legend(**BESIDE)
        axes.margins(x=0.01)
    panels[-1].set_xlabel("time [s]")
    figure.align_ylabels()


def intervals_figure(
    candidates: Sequence[Candidate], names: Sequence[str], units: Mapping[str, str]
) -> str:
    """Return a figure of the expected half-widths after motions, relative to the present ones."""
    shown = candidates[:3]
    alt = "Expected half-width of each 95 % interval, now and after the best motion: " + "; ".join(
        quantity(f"{name} {now:.3g} to {shown[0].half_widths[name]:.3g}", units[name])
        for name, now in shown[0].half_widths_now.items()
    )

    def draw(figure: Figure) -> None:
        draw_intervals(figure.subplots(), shown, names, units)

    rows = len(shown[0].half_widths_now) * (len(shown) + 0.8)
    return svg(9.2, 0.8 + 0.24 * rows, draw, alt)


def draw_intervals(
    axes: Axes, shown: Sequence[Candidate], names: Sequence[str], units: Mapping[str, str]
) -> None:
    """Draw a group of bars for each parameter, a bar for each motion."""
    parameters = list(shown[0].half_widths_now)
    middles, height = np.arange(len(parameters), dtype=float), 0.8 / len(shown)
    percent_max = 100.0
    for c, (motion, name) in enumerate(zip(shown, names, strict=False)):
        percent = [100.0 * motion.half_widths[p] / motion.half_widths_now[p] for p in parameters]
        y0 = middles - 0.4 + height * (c + 0.5)
        axes.barh(y0, percent, 0.82 * height, color=(BLUE, *PALETTE[1:])[c], label=name, alpha=0.9)
        for y, x, p in zip(y0, percent, parameters, strict=True):
            text = quantity(f"± {motion.half_widths[p]:.3g}", units[p])
            axes.text(x + 1.0, y, text, va="center", fontsize=7.5, color=GRAY)
        percent_max = max(percent_max, *percent)
    axes.axvline(100.0, color=GRAY, linewidth=1.0, linestyle="--", label="now")
    now = [quantity(f"{p}\n± {shown[0].half_widths_now[p]:.3g}", units[p]) for p in parameters]
    axes.set_yticks(middles, now)
    axes.invert_yaxis()
    axes.set_xlim(0.0, 1.15 * percent_max)
    axes.set_xlabel("half-width of the 95 % interval afterwards [% of now]")
    axes.grid(False, axis="y")
    axes.legend(**BESIDE)


def _varied_inputs(design: Design) -> list[InputLimits]:
    """Return the limits of inputs that the design changes."""
    return [limit for limit in design.limits if limit.high > limit.low]


def _units(design: Design) -> list[str]:
    """Return the units of the outputs without repetitions."""
    return list(dict.fromkeys(channel.unit for channel in design.channels))


def next_motion(report: Report) -> str:
    """Return the section on the designed motion, and candidates by information, or ""."""
    if not report.candidates:
        return ""
    units = {p.name: p.unit for p in report.estimate.parameters}
    names = short_names([candidate.name for candidate in report.candidates])
    possible = [k for k, candidate in enumerate(report.candidates) if np.isfinite(candidate.gain)]
    body = _design_text(report.design) if report.design else ""
    if possible:
        shown = [report.candidates[k] for k in possible]
        figure = intervals_figure(shown, [names[k] for k in possible], units)
        body += html.figure(figure, "Intervals to be expected if the model is right.", wide=True)
    body += _table(report, names, units)
    return html.section("What to record next", body + html.note(_note(report)))


def short_names(names: Sequence[str]) -> list[str]:
    """Return names without their folders, unless the folders distinguish them."""
    files = [Path(name).name for name in names]
    return files if len(set(files)) == len(files) else list(names)


def _design_text(design: Design) -> str:
    """Return the description and figure of the motion to command."""
    gains = [gain for gain in design.gains if np.isfinite(gain)]
    limits = "; ".join(
        f"{u.name} {u.low:.4g} to {u.high:.4g} {u.unit}, at most {u.rate:.3g} "
        f"{u.unit}/s" + (" (as given)" if u.widened else "")
        for u in _varied_inputs(design)
    )
    text = (
        f"<b>{escape(design.candidate.name)}</b> is the motion to command: {design.family}, of "
        f"{design.time[-1]:.4g} s, the most informative of {design.evaluations}. It adds "
        f"{design.candidate.gain:.2f} nats; the median of drawn motions {np.median(gains):.2f}"
        f", and {escape(design.again.name)} {design.again.gain:.2f}."
    )
    remark = (
        "Limits, each input by itself, are those of the recordings. Whether the robot bears inputs "
        "together is not known here: check the motion before it is commanded."
    )
    figure = html.figure(motion_figure(design), f"Motion to command: {limits}.", wide=True)
    return f"<p>{text}</p>{figure}{html.note(remark)}"


def _table(report: Report, names: Sequence[str], units: dict[str, str]) -> str:
    candidates = report.candidates
    heads = ["", "n:as it is", *(f"n:{name}" for name in names)]
    gains = [
        f"{candidate.gain:.2f}" if np.isfinite(candidate.gain) else "cannot be simulated"
        for candidate in candidates
    ]
    rows = [["<b>information added [nats]</b>", "", *gains]]
    for name, now in candidates[0].half_widths_now.items():
        widths = [f"{candidate.half_widths[name]:.3g}" for candidate in candidates]
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
