"""HTML report of an identification, in one file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import zip_longest

import numpy as np

import sofa_softctl.view.report.figures as plots
from sofa_softctl.identification.fitting.residual import Fit
from sofa_softctl.identification.fitting.steepest_descent import FLAT, GRADIENT
from sofa_softctl.identification.parameter import Parameter
from sofa_softctl.identification.report.report import Report, minimum_of
from sofa_softctl.identification.uncertainty.residual_analysis import ChannelResiduals
from sofa_softctl.view.report import html
from sofa_softctl.view.terminal.numbers import counted, interval_text, known, number

CHANNELS, OPEN = 12, 6
"""Most channels that are drawn, and of these not folded; the tables have all."""
SHIFTED = 5
"""Most parameters whose shifts are shown."""
ROWS = 12
"""Most rows of channels that noise explains; more are folded."""
NOTHING = 1e-4
"""Residuals below this many deviations are rounding, shown as 0."""


def page(report: Report) -> str:
    """The text of the HTML file."""
    title = f"Identification of {report.problem}"
    sections = [
        _found(report),
        _parameters(report),
        _causes(report),
        _trust(report),
        _wrong(report),
        _hidden(report),
        _fits(report),
        _next(report),
        _descent(report),
        _searches(report),
        _recordings(report),
        _reading(report),
    ]
    verdict = html.findings([(report.verdict.text, report.verdict.level)])
    return html.page(title, verdict + _tiles(report), sections)


def _tiles(report: Report) -> str:
    estimate = report.estimate
    held_out = report.rms_held_out
    tiles = {
        f"{estimate.data:,}": f"measured samples, {len(estimate.fits)} recording"
        + ("s" if len(estimate.fits) > 1 else ""),
        f"{report.rms:.2f} σ": "RMS residual of the fitted data " + _by_noise(report),
        f"{held_out:.2f} σ" if np.isfinite(held_out) else "–": "RMS residual of held-out data",
        f"{estimate.seconds:.2g} s": counted(estimate.evaluations, "simulation"),
    }
    method = f"{estimate.method}.{drawn(report)}"
    return f'<p class="soft">{escape(method)}</p>{html.tiles(tiles.items())}'


def _found(report: Report) -> str:
    items = html.findings((one.text, one.level) for one in report.diagnostics)
    return html.section("What was found", items)


def _parameters(report: Report) -> str:
    estimate, trust = report.estimate, report.trust
    rows = []
    for i, one in enumerate(estimate.parameters):
        value, low, high = float(estimate.rho[i]), float(trust.low[i]), float(trust.high[i])
        kept = "fixed" if one.name in estimate.fixed else "not identifiable"
        interval = (
            interval_text(low, high, value, one.start)
            if one.name not in estimate.held
            else f'<span class="soft">{kept}</span>'
        )
        rows.append(
            [
                f"<b>{escape(one.name)}</b>",
                f"{number(value, high - low)}",
                escape(one.unit),
                interval,
                "" if one.name in estimate.held else _range(value, low, high, one.start),
                f"{one.start:.4g}",
            ]
        )
    heads = ["parameter", "n:value", "unit", "n:95 % interval", "interval and start", "n:start"]
    kind = "Student's t" if trust.distribution == "Student-t" else "the normal distribution"
    unknown = any(fit.unknowns for fit in estimate.fits)
    inputs = "as unknowns of the fit" if unknown else "propagated through the model"
    noise = "estimated from residuals" if estimate.noise_estimated else "as declared"
    note = (
        f"Intervals are of {kind}, with the noise of outputs {noise}, and noise of recorded inputs "
        f"{inputs}, linearised at the estimate. Drawn: the interval as a bar, the value as a ring, "
        "the start as a tick."
    )
    return html.section("Parameters", html.table(heads, rows), note)


def _causes(report: Report) -> str:
    """Causes that fit better than noise explains."""
    if not report.causes.found:
        return ""
    names = [one.name for one in _moving(report)]
    units = {one.name: one.unit for one in report.estimate.parameters}
    heads = ["cause", "n:size", "n:explains", "n:chance", *(f"n:{name}" for name in names)]
    rows = [
        [
            f"<b>{escape(one.name)}</b><br>{escape(one.what)}",
            escape(one.size),
            f"{one.explained:.0%}",
            f"{one.p_value:.1g}",
            *(
                f"{one.shifts[name]:+.3g} {escape(units[name])}<br>"
                f'<span class="soft">{one.half_widths[name]:+.2g}</span>'
                for name in names
            ),
        ]
        for one in report.causes.found
    ]
    note = (
        f"Of {counted(len(report.causes.scores), 'tested effect')}, and of columns that may be "
        "swapped or reversed where the fit is far from the data. Chance: that any fits so much "
        "better by noise alone. Explains: of the cost above that of noise. For each parameter its "
        "change if the cause is in the model, below it in half-widths of its interval."
    )
    return html.section("What explains the data better", html.table(heads, rows), note)


def _moving(report: Report) -> list[Parameter]:
    """Parameters that causes change most."""
    found = report.causes.found

    def most(one: Parameter) -> float:
        return -max(abs(cause.half_widths.get(one.name, 0.0)) for cause in found)

    fitted = [one for one in report.estimate.parameters if one.name in found[0].half_widths]
    return sorted(fitted, key=most)[:SHIFTED]


def _hidden(report: Report) -> str:
    """Effects that would spoil parameters unseen."""
    if not report.causes.hidden:
        return ""
    items = "".join(f"<li>{escape(one.sentence)}</li>" for one in report.causes.hidden)
    note = (
        "Effects that would shift a parameter by more than its interval before the tests show "
        "them, those first that could do most harm. Measure them otherwise, or record a motion "
        "that tells them from the parameters."
    )
    return html.section("What these data could not show", f"<ul>{items}</ul>", note)


def _trust(report: Report) -> str:
    estimate, trust = report.estimate, report.trust
    body = ""
    if trust.directions:
        rows = [
            [
                escape(one.name if len(one.large) > 1 else one.large[0][0]),
                escape(one.known) if one.deviation < 10.0 else "–",
                _identifiable(one.deviation),
            ]
            for one in trust.directions
        ]
        body += html.table(
            ["direction, relative to each value", "n:known within", "identifiable"], rows
        )
    free = np.isfinite(np.diag(trust.correlation))
    if free.sum() > 1 and _known(report).any():
        body += html.figure(plots.correlation_figure(trust, estimate.parameters), "")
    if trust.input_covariance.any() and _known(report).any():
        body += html.figure(
            plots.noise_share_figure(trust, estimate.rho),
            "Noise of recorded inputs enters through the model; its share is shown separately.",
        )
    note = (
        "Each direction is a joint change of the parameters, relative to their values, with its "
        "standard deviation from noise of outputs; parameters that start at 0 count in their "
        "units. The least identifiable comes first: where its deviation is large, only the other "
        "combinations are known."
    )
    return html.section("What the data can tell", body, note) if body else ""


def _known(report: Report) -> np.ndarray:
    """Mask of parameters with an informative interval, shape (n_rho,)."""
    trust = report.trust
    starts = [one.start for one in report.estimate.parameters]
    rows = zip(trust.low, trust.high, report.estimate.rho, starts, strict=True)
    return np.array([known(*map(float, row)) for row in rows])


def _wrong(report: Report) -> str:
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
        plots.noise_figure(report.estimate.fits),
        "Distribution and autocorrelation of the residuals of the fitted data.",
    )
    note = "Correlation: of the residuals of successive samples."
    if through:
        note += (
            " By noise: RMS residual of a correct model with noise of inputs and outputs, the mean "
            f"of {report.draws} draws; residuals are tested against their spread."
        )
    return html.section("Where the model is wrong", body, note)


def _windows(shown: Sequence[tuple[ChannelResiduals, str]], labels: Sequence[str]) -> str:
    if not shown:
        return ""
    return html.figure(
        plots.windows_figure([one for one, _ in shown], labels),
        "RMS residual in each time window, in standard deviations of the outputs' noise: about 1 "
        "for a correct model with exact inputs.",
    )


def _label(one: ChannelResiduals, several: bool) -> str:
    return f"{one.experiment}: {one.channel}" if several else one.channel


def _fits(report: Report) -> str:
    pairs = [(fit, "") for fit in report.estimate.fits]
    pairs += [(one.fit, "held out: ") for one in report.validations]
    columns = [
        (fit, k, kind)
        for fit, kind in pairs
        for k in range(len(fit.channels))
        if fit.there[:, k].any()
    ]
    wrong = [not one.right for one in (*report.residuals, *report.held_out) if one.count]
    missed = [float(np.nanmean(fit.residuals[:, k] ** 2)) for fit, k, _ in columns]
    moved = [float(np.nanstd(fit.measured[:, k]) / fit.deviations[k]) for fit, k, _ in columns]
    shown = most_telling(missed, moved, wrong)
    figures = [_fit(*columns[n]) for n in shown]
    body = "".join(figures[:OPEN])
    if figures[OPEN:]:
        body += html.folded(f"{len(figures) - OPEN} more channels", "".join(figures[OPEN:]))
    left = len(columns) - len(shown)
    note = "Channels that noise does not explain, largest residuals first, and those that move most"
    note += f"; {counted(left, 'more')} not drawn." if left else "."
    return html.section("Measured and predicted", body, note if left or len(shown) > OPEN else "")


def most_telling(
    missed: Sequence[float], moved: Sequence[float], wrong: Sequence[bool]
) -> list[int]:
    """Channels to draw: in turns, wrong ones by residual, and all by motion.

    Args:
        missed: Mean square residual of each.
        moved: Motion of each, in deviations.
        wrong: Whether noise does not explain the residuals.
    """
    everything = range(len(missed))
    by_miss = sorted((n for n in everything if wrong[n]), key=lambda n: -missed[n])
    by_motion = sorted(everything, key=lambda n: -moved[n])
    turns = [n for pair in zip_longest(by_miss, by_motion) for n in pair if n is not None]
    return list(dict.fromkeys(turns))[:CHANNELS]


def _fit(fit: Fit, k: int, kind: str) -> str:
    return html.figure(plots.fit_figure(fit, k), f"{kind}{fit.name}, {fit.channels[k].name}")


def _next(report: Report) -> str:
    if not report.candidates:
        return ""
    first = report.candidates[0]
    units = {one.name: one.unit for one in report.estimate.parameters}
    heads = ["", "n:as it is", *(f"n:{one.name}" for one in report.candidates)]
    gains = [
        f"{one.gain:.2f}" if np.isfinite(one.gain) else "cannot be simulated"
        for one in report.candidates
    ]
    rows = [["<b>information added [nats]</b>", "", *gains]]
    for name, now in first.half_widths_now.items():
        widths = [f"{one.half_widths[name]:.3g}" for one in report.candidates]
        rows.append([f"± {escape(name)} {escape(units[name])}", f"{now:.3g}", *widths])
    note = (
        "Candidates by the information that recording them would add (D-optimal), with the "
        "expected half-width of the 95 % interval afterwards, noise of inputs included. Parameters "
        "that the data do not depend on have a prior of ten times their scale."
    )
    if report.trust.input_covariance.any():
        note += (
            " Samples are weighted by noise of outputs alone: with noisy inputs more data can make "
            "an estimate worse, and information is negative."
        )
    return html.section("What to record next", html.table(heads, rows), note)


def _descent(report: Report) -> str:
    if report.descent is None:
        return ""
    descent = report.descent
    first, last = descent.iterates[0], descent.iterates[-1]
    note = (
        f"{descent.iterations} iterations: cost {first.cost:.6g} to {last.cost:.6g}, gradient norm "
        f"{first.gradient_norm:.4g} to {last.gradient_norm:.4g} (the paper stops at {GRADIENT:g}), "
        f"relative slope {first.relative_slope:.3g} to {last.relative_slope:.3g} (we stop at "
        f"{FLAT:g})."
    )
    body = html.figure(plots.descent_figure(descent, report.estimate.fits), "Convergence.")
    body += html.figure(
        plots.outputs_figure(descent, report.estimate.fits),
        "Predicted motion of each iteration, light to dark, and the measured one in black.",
    )
    return html.section("The path of steepest descent", body, note)


def _searches(report: Report) -> str:
    searches = report.estimate.searches
    if len(searches) < 2:
        return ""
    names = report.estimate.names
    heads = ["n:from", *(f"n:{name}" for name in names), "n:cost", "n:minimum", "ended"]
    rows = [
        [
            str(k + 1),
            *(
                f"{a:.3g} → <b>{b:.4g}</b>"
                for a, b in zip(one.start.tolist(), one.rho.tolist(), strict=True)
            ),
            f"{one.cost:.5g}",
            str(minimum_of(report.estimate, k) or ""),
            one.termination.name.lower().replace("_", " "),
        ]
        for k, one in enumerate(searches)
    ]
    return html.section(
        "From other starts",
        html.table(heads, rows),
        "Best first. Ends with the same number are one minimum: costs, and parameters as far as "
        "the data determine them, agree within a standard deviation.",
    )


def _recordings(report: Report) -> str:
    rows = [
        [escape(name), "<br>".join(map(escape, notes)) or "no notes"]
        for name, notes in report.notes.items()
    ]
    return html.section("Recordings", html.table(["file", "notes"], rows)) if rows else ""


def _reading(report: Report) -> str:
    del report
    return html.section(
        "How to read this",
        "<p>σ is the standard deviation of a channel's noise, as declared by the problem. "
        "Residuals of a correct model are about 1 σ, without a pattern over time. Intervals give "
        "the effect of noise on the parameters of <i>this</i> model, not its correctness; "
        "residuals and held-out data test that.</p>",
    )


def drawn(report: Report) -> str:
    """Draws and time to test residuals where inputs have noise; empty: none."""
    if not report.draws:
        return ""
    cost = f"{report.draws} draws of the inputs' noise, {report.draw_seconds:.2g} s"
    return f" Residuals were tested with {cost}."


def _by_noise(report: Report) -> str:
    return "(1: noise)" if not report.draws else "(1: noise of the outputs)"


def _identifiable(deviation: float) -> str:
    if deviation > 1.0:
        return '<b style="color: var(--bad)">no</b>'
    return '<b style="color: var(--look)">weakly</b>' if deviation > 0.1 else "yes"


def _range(value: float, low: float, high: float, start: float) -> str:
    """The interval, the value and the start on one line."""
    ends = [value, low, high, start] if known(low, high, value, start) else [value, start]
    least, span = min(ends), max(max(ends) - min(ends), 1e-300)

    def at(x: float) -> float:
        return 8.0 + 174.0 * (x - least) / span

    bar = ""
    if known(low, high, value, start):
        wide = max(at(high) - at(low), 2.0)
        bar = f'<rect x="{at(low):.1f}" y="6" width="{wide:.1f}" height="4" rx="2" fill="#0072b2"/>'
    return (
        '<svg class="range" viewBox="0 0 190 16"><line x1="4" x2="186" y1="8" y2="8" '
        f'stroke="#e3e8ed" stroke-width="2"/>{bar}<line x1="{at(start):.1f}" '
        f'x2="{at(start):.1f}" y1="2" y2="14" stroke="#5b6570" stroke-width="1.5"/>'
        f'<circle cx="{at(value):.1f}" cy="8" r="3.6" fill="#fff" stroke="#0072b2" '
        'stroke-width="2"/></svg>'
    )
