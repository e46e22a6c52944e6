"""Sections of the HTML report: error of the discretisation, and refits of simulated data."""

from __future__ import annotations

from html import escape

from sofa_softctl.identification.report.report import Report
from sofa_softctl.view.report import html
from sofa_softctl.view.terminal.numbers import counted, number
from sofa_softctl.view.terminal.uncertainty import more_intervals


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
            f" Refits: quantiles of {counted(len(made.found), 'estimate')} from data simulated at "
            f"the estimate with new noise; {len(made.failed)} failed, {made.seconds:.2g} s."
        )
    return html.section("Other intervals of 95 %", html.table(heads, rows), note)
