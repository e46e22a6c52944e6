"""Columns of the table of parameters: intervals with the discretisation, and those of refits."""

from __future__ import annotations

import numpy as np

from sofa_softctl.identification.report.report import Report
from sofa_softctl.view.terminal.numbers import interval_text


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
