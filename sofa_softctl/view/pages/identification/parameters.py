"""Sections on the parameters: intervals, error of the discretisation, refits of simulated data."""

from __future__ import annotations

from html import escape

import numpy as np

from sofa_softctl.identification.report.report import Report
from sofa_softctl.view.pages import html
from sofa_softctl.view.words import interval_text, is_informative, number, plural


def parameters(report: Report) -> str:
    """Return the section with the table of parameters; marks numbers that are not to be trusted."""
    heads = ["parameter", "n:value", "unit", "n:95 % interval", "interval and start", "n:start"]
    rows = [_row(report, i) for i in range(len(report.estimate.names))]
    table = html.table(heads, rows)
    if report.distrust:
        reason = f"<b>Not to be trusted</b>, because: {escape(report.distrust)}"
        table = f'<div class="doubted"><p class="why">{reason}</p>{table}</div>'
    return html.section("Parameters", table + html.note(_note(report)))


def _row(report: Report, i: int) -> list[str]:
    estimate, trust = report.estimate, report.trust
    p, mark = estimate.parameters[i], html.mark_untrusted if report.distrust else str
    value, low, high = float(estimate.rho[i]), float(trust.low[i]), float(trust.high[i])
    reason = "fixed" if p.name in estimate.fixed else "not identifiable"
    is_held = p.name in estimate.held
    interval = interval_text(low, high, value, p.start)
    return [
        f"<b>{escape(p.name)}</b>",
        mark(number(value, high - low)),
        escape(p.unit),
        f'<span class="soft">{reason}</span>' if is_held else mark(interval),
        "" if is_held else _range(value, low, high, p.start),
        f"{p.start:.4g}",
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
    """Return a drawing of the interval, the value and the start on one line."""
    has_interval = is_informative(low, high, value, start)
    ends = [value, low, high, start] if has_interval else [value, start]
    low_end, span = min(ends), max(max(ends) - min(ends), 1e-300)

    def x_of(x: float) -> float:
        return 8.0 + 174.0 * (x - low_end) / span

    alt = f"value {value:.4g}, start {start:.4g}"
    bar = ""
    if has_interval:
        alt += f", interval {low:.4g} to {high:.4g}"
        width = max(x_of(high) - x_of(low), 2.0)
        bar = f'<rect class="bar" x="{x_of(low):.1f}" y="6" width="{width:.1f}" height="4" rx="2"/>'
    return (
        f'<svg class="range" viewBox="0 0 190 16" role="img" aria-label="{alt}">'
        f'<line class="axis" x1="4" x2="186" y1="8" y2="8"/>{bar}<line class="start" '
        f'x1="{x_of(start):.1f}" x2="{x_of(start):.1f}" y1="2" y2="14"/>'
        f'<circle cx="{x_of(value):.1f}" cy="8" r="3.6"/></svg>'
    )


def discretisation(report: Report) -> str:
    """Return the section on changes of parameters by finer discretisations, or ""."""
    budget = report.discretisation
    if budget is None or not budget.shifts:
        return ""
    half = 0.5 * (report.trust.high - report.trust.low)
    rows = [
        [
            f"<b>{escape(p.name)}</b>",
            escape(shift.refinement.text),
            f"{shift.rho[i]:.5g}",
            f"{shift.change[i]:+.2g}",
            f"{shift.change[i] / half[i]:+.2g}" if half[i] > 0.0 else "",
            f"{shift.limit[i]:+.2g}",
            escape(p.unit),
        ]
        for shift in budget.shifts
        for i, p in enumerate(report.estimate.parameters)
        if p.name not in report.estimate.held
    ]
    heads = ["parameter", "refinement", "n:value with it", "n:change", "n:in half-widths"]
    heads += ["n:extrapolated", "unit"]
    note = (
        "The same data, fitted with a finer model. In half-widths of the interval of noise. "
        "Extrapolated: the change by a discretisation without error, if its error is of the order "
        + ", ".join(f"{shift.refinement.order} ({shift.refinement.of})" for shift in budget.shifts)
        + "."
    )
    return html.section("The discretisation is part of the model", html.table(heads, rows), note)


def intervals(report: Report) -> str:
    """Return the section on intervals with the discretisation, and of refits, or ""."""
    columns = further_intervals(report)
    if not columns:
        return ""
    refits = report.bootstrap
    heads = ["parameter", *(f"n:{title}" for title, _ in columns)]
    heads += ["n:bias of refits"] if refits is not None else []
    rows = []
    for i, p in enumerate(report.estimate.parameters):
        row = [f"<b>{escape(p.name)}</b>", *(escape(cells[i]) for _, cells in columns)]
        if refits is not None:
            error = float(refits.bias_error[i])
            row.append(f"{number(float(refits.bias[i]), error)} ± {error:.2g}")
        rows.append(row)
    note = (
        "With discretisation: the interval of noise, moved by any part of the extrapolated errors."
    )
    if refits is not None:
        note += (
            f" Refits: quantiles of {plural(len(refits.found), 'estimate')} from data simulated at "
            f"the estimate with new noise; {len(refits.failed)} failed, {refits.seconds:.2g} s."
        )
    return html.section("Other intervals of 95 %", html.table(heads, rows), note)


def further_intervals(report: Report) -> list[tuple[str, list[str]]]:
    """Return titles and cells of further columns, with a cell for each parameter."""
    columns = []
    budget, refits = report.discretisation, report.bootstrap
    if budget is not None and budget.shifts:
        columns.append(("with discretisation", _cells(report, *budget.widened(report.trust))))
    if refits is not None:
        columns.append((f"of {len(refits.found)} refits", _cells(report, refits.low, refits.high)))
    return columns


def _cells(report: Report, low: np.ndarray, high: np.ndarray) -> list[str]:
    estimate = report.estimate
    return [
        ""
        if p.name in estimate.held
        else interval_text(float(low[i]), float(high[i]), float(estimate.rho[i]), p.start)
        for i, p in enumerate(estimate.parameters)
    ]
