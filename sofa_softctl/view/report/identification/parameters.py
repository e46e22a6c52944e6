"""Section of the parameters with their intervals."""

from __future__ import annotations

from html import escape

from sofa_softctl.identification.report.report import Report
from sofa_softctl.view.report import html
from sofa_softctl.view.terminal.numbers import interval_text, known, number


def parameters(report: Report) -> str:
    """The table of parameters; each number of an estimate not to be trusted is marked as such."""
    heads = ["parameter", "n:value", "unit", "n:95 % interval", "interval and start", "n:start"]
    rows = [_row(report, i) for i in range(len(report.estimate.names))]
    table = html.table(heads, rows)
    if report.distrust:
        why = f"<b>Not to be trusted</b>, because: {escape(report.distrust)}"
        table = f'<div class="doubted"><p class="why">{why}</p>{table}</div>'
    return html.section("Parameters", table + html.note(_note(report)))


def _row(report: Report, i: int) -> list[str]:
    estimate, trust = report.estimate, report.trust
    one, mark = estimate.parameters[i], html.doubted if report.distrust else str
    value, low, high = float(estimate.rho[i]), float(trust.low[i]), float(trust.high[i])
    kept = "fixed" if one.name in estimate.fixed else "not identifiable"
    held = one.name in estimate.held
    interval = interval_text(low, high, value, one.start)
    return [
        f"<b>{escape(one.name)}</b>",
        mark(number(value, high - low)),
        escape(one.unit),
        f'<span class="soft">{kept}</span>' if held else mark(interval),
        "" if held else _range(value, low, high, one.start),
        f"{one.start:.4g}",
    ]


def _note(report: Report) -> str:
    kind = "Student's t" if report.trust.distribution == "Student-t" else "the normal distribution"
    unknown = any(fit.unknowns for fit in report.estimate.fits)
    inputs = "as unknowns of the fit" if unknown else "propagated through the model"
    noise = "estimated from residuals" if report.estimate.noise_estimated else "as declared"
    return (
        f"Intervals are of {kind}, with the noise of outputs {noise}, and noise of recorded inputs "
        f"{inputs}, linearised at the estimate. Drawn: the interval as a bar, the value as a ring, "
        "the start as a tick."
    )


def _range(value: float, low: float, high: float, start: float) -> str:
    """The interval, the value and the start on one line."""
    there = known(low, high, value, start)
    ends = [value, low, high, start] if there else [value, start]
    least, span = min(ends), max(max(ends) - min(ends), 1e-300)

    def at(x: float) -> float:
        return 8.0 + 174.0 * (x - least) / span

    alt = f"value {value:.4g}, start {start:.4g}"
    bar = ""
    if there:
        alt += f", interval {low:.4g} to {high:.4g}"
        wide = max(at(high) - at(low), 2.0)
        bar = f'<rect class="bar" x="{at(low):.1f}" y="6" width="{wide:.1f}" height="4" rx="2"/>'
    return (
        f'<svg class="range" viewBox="0 0 190 16" role="img" aria-label="{alt}">'
        f'<line class="axis" x1="4" x2="186" y1="8" y2="8"/>{bar}<line class="start" '
        f'x1="{at(start):.1f}" x2="{at(start):.1f}" y1="2" y2="14"/>'
        f'<circle cx="{at(value):.1f}" cy="8" r="3.6"/></svg>'
    )
