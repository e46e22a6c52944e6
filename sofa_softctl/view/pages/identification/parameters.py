"""Sections on the parameters: intervals, error of the discretisation, refits of simulated data."""

from __future__ import annotations

from html import escape

import numpy as np

from sofa_softctl.identification.report.report import Report
from sofa_softctl.view.pages import html
from sofa_softctl.view.words import interval_text, is_informative, number, plural


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
    there = is_informative(low, high, value, start)
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


def discretisation(report: Report) -> str:
    """Changes of each parameter by finer discretisations; empty without."""
    budget = report.discretisation
    if budget is None or not budget.shifts:
        return ""
    half = 0.5 * (report.trust.high - report.trust.low)
    rows = [
        [
            f"<b>{escape(one.name)}</b>",
            escape(shift.refinement.text),
            f"{shift.rho[i]:.5g}",
            f"{shift.change[i]:+.2g}",
            f"{shift.change[i] / half[i]:+.2g}" if half[i] > 0.0 else "",
            f"{shift.limit[i]:+.2g}",
            escape(one.unit),
        ]
        for shift in budget.shifts
        for i, one in enumerate(report.estimate.parameters)
        if one.name not in report.estimate.held
    ]
    heads = ["parameter", "refinement", "n:value with it", "n:change", "n:in half-widths"]
    heads += ["n:extrapolated", "unit"]
    note = (
        "The same data, fitted with a finer model. In half-widths of the interval of noise. "
        "Extrapolated: the change by a discretisation without error, if its error is of the order "
        + ", ".join(f"{one.refinement.order} ({one.refinement.of})" for one in budget.shifts)
        + "."
    )
    return html.section("The discretisation is part of the model", html.table(heads, rows), note)


def intervals(report: Report) -> str:
    """Intervals with the discretisation, and of refits; empty without either."""
    columns = more_intervals(report)
    if not columns:
        return ""
    made = report.bootstrap
    heads = ["parameter", *(f"n:{title}" for title, _ in columns)]
    heads += ["n:bias of refits"] if made is not None else []
    rows = []
    for i, one in enumerate(report.estimate.parameters):
        row = [f"<b>{escape(one.name)}</b>", *(escape(cells[i]) for _, cells in columns)]
        if made is not None:
            error = float(made.bias_error[i])
            row.append(f"{number(float(made.bias[i]), error)} ± {error:.2g}")
        rows.append(row)
    note = (
        "With discretisation: the interval of noise, moved by any share of the extrapolated errors."
    )
    if made is not None:
        note += (
            f" Refits: quantiles of {plural(len(made.found), 'estimate')} from data simulated at "
            f"the estimate with new noise; {len(made.failed)} failed, {made.seconds:.2g} s."
        )
    return html.section("Other intervals of 95 %", html.table(heads, rows), note)


def more_intervals(report: Report) -> list[tuple[str, list[str]]]:
    """Titles and cells of further columns, a cell for each parameter; none by default."""
    columns = []
    budget, made = report.discretisation, report.bootstrap
    if budget is not None and budget.shifts:
        columns.append(("with discretisation", _cells(report, *budget.widened(report.trust))))
    if made is not None:
        columns.append((f"of {len(made.found)} refits", _cells(report, made.low, made.high)))
    return columns


def _cells(report: Report, low: np.ndarray, high: np.ndarray) -> list[str]:
    estimate = report.estimate
    return [
        ""
        if one.name in estimate.held
        else interval_text(float(low[i]), float(high[i]), float(estimate.rho[i]), one.start)
        for i, one in enumerate(estimate.parameters)
    ]
