"""Diagnostics on causes of what the model does not predict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sofa_softctl.identification.causes.cause import Cause
from sofa_softctl.identification.causes.causes import ALIKE
from sofa_softctl.identification.report.diagnostic import Diagnostic

if TYPE_CHECKING:
    from sofa_softctl.identification.report.report import Report


def on_causes(report: Report) -> list[Diagnostic]:
    """The likeliest cause, with what it does to the parameters."""
    first, wrong = report.causes.first, any(not one.right for one in report.residuals)
    if report.causes.better is not None:
        return [Diagnostic("bad", report.causes.better.sentence)]
    if first is None:
        tests = len(report.causes.scores)
        if not wrong or not tests:
            return []
        text = f"None of {tests} effects that the model may leave out fits better than noise."
        return [Diagnostic("look", text)]
    if finer := _finer(report, first):
        return [Diagnostic("bad" if wrong else "look", finer)]
    if first.beside:
        return [Diagnostic("bad", first.sentence)]
    if wrong or first.matters or not report.estimate.status.ok:
        return [Diagnostic("bad", f"{first.sentence}{_bias(first)}{_coarse(report, first)}")]
    text = (
        f"{first.sentence} It is of no consequence: no parameter changes by half of the half-width "
        "of its interval."
    )
    return [Diagnostic("look", text)]


def _finer(report: Report, first: Cause) -> str:
    """Whether a finer model, without another parameter, fits as well as with the cause."""
    shifts = () if report.discretisation is None else report.discretisation.shifts
    best = max(shifts, key=lambda one: one.whole_decrease, default=None)
    if best is None or best.whole_decrease < first.decrease - ALIKE:
        return ""
    return (
        f"The model fits as well {best.refinement.text} as with {first.what}: change the "
        f"{best.refinement.of} first."
    )


def _coarse(report: Report, first: Cause) -> str:
    """That a coarse time step may look like a small effect, where finer ones were not tried."""
    budget = report.discretisation
    tested = budget is not None and (budget.shifts or not budget.left_out)
    if first.kind == "columns" or tested:
        return ""
    return " Whether a finer time step or mesh explains it was not tested: --budget does."


def _bias(first: Cause) -> str:
    return f" With it, {first.largest_shift}." if first.largest_shift else ""
