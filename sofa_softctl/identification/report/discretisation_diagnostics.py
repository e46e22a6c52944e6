"""Diagnostics from finer discretisations: which parameters belong to this mesh or time step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sofa_softctl.identification.data.units import quantity
from sofa_softctl.identification.report.diagnostic import Diagnostic, listed
from sofa_softctl.identification.uncertainty.discretisation import Shift
from sofa_softctl.identification.uncertainty.identifiability import sizes

if TYPE_CHECKING:
    from sofa_softctl.identification.report.report import Report

MATTERS = 1.0
"""Extrapolated change above which a parameter belongs to its mesh, in half-widths of its interval
[-]."""


def on_discretisation(report: Report) -> list[Diagnostic]:
    """One diagnostic for each refinement, made or left out."""
    budget = report.discretisation
    if budget is None:
        return []
    found = [_on(report, one) for one in budget.shifts]
    return found + [Diagnostic("look", text) for text in budget.left_out]


def _on(report: Report, shift: Shift) -> Diagnostic:
    if beyond(report, shift).any():
        return Diagnostic("look", _belongs(report, shift))
    return _small(report, shift)


def headlines(report: Report) -> list[str]:
    """For the first line: sentences on parameters that belong to their mesh or time step."""
    shifts = () if report.discretisation is None else report.discretisation.shifts
    return [_belongs(report, one) for one in shifts if beyond(report, one).any()]


def beyond(report: Report, shift: Shift) -> np.ndarray:
    """Which parameters change by more than their intervals, mask of shape (n_rho,)."""
    found: np.ndarray = np.abs(shift.limit) > MATTERS * _half(report)
    return found


def _half(report: Report) -> np.ndarray:
    """Half-widths of the intervals, infinite for parameters that were not fitted."""
    half = 0.5 * (report.trust.high - report.trust.low)
    found: np.ndarray = np.where(np.isfinite(half), half, np.inf)
    return found


def _belongs(report: Report, shift: Shift) -> str:
    """Such as: 'k belongs to this time step: with one of 5 instead of 10 ms it would be ...'."""
    which = np.flatnonzero(beyond(report, shift))
    names = [report.estimate.names[i] for i in which]
    several = len(names) > 1
    text = (
        f"{listed(names, 'others')} belong{'' if several else 's'} to this {shift.refinement.of}: "
        f"{shift.refinement.text} "
    )
    up = [int(i) for i in which if shift.change[i] >= 0.0]
    down = [int(i) for i in which if shift.change[i] < 0.0]
    if up and down:
        first, second = (listed([report.estimate.names[i] for i in each]) for each in (up, down))
        text += f"{first} would be {_by(report, shift, up)} higher, {second} "
        text += f"{_by(report, shift, down)} lower"
    else:
        text += f"{'they' if several else 'it'} would be {_by(report, shift, up or down)} "
        text += "higher" if up else "lower"
    half = "half-widths of their intervals" if several else "half-width of its interval"
    times = np.abs(shift.change[which]) / _half(report)[which]
    whole = _by(report, shift, which.tolist(), whole=True)
    least = "" if shift.converged else " or more"
    times_half = f"{_span(times)} times the {half}"
    return f"{text}{least} ({times_half}); extrapolated, the whole error is {whole}."


def _by(report: Report, shift: Shift, which: list[int], *, whole: bool = False) -> str:
    """Changes of some parameters: '24 to 27 %', or in units for those that start at 0."""
    change = np.abs(shift.limit if whole else shift.change)
    parameters = report.estimate.parameters
    relative = [i for i in which if parameters[i].start != 0.0]
    texts = []
    if relative:
        share = 100.0 * change[relative] / sizes(report.estimate)[relative]
        texts.append(f"{_span(share)} %")
    texts += [quantity(f"{change[i]:.2g}", parameters[i].unit) for i in which if i not in relative]
    return listed(texts, "others")


def _span(values: np.ndarray) -> str:
    """'24', or '24 to 27'."""
    least, most = (f"{v:.2g}" for v in (values.min(), values.max()))
    return least if least == most else f"{least} to {most}"


def _small(report: Report, shift: Shift) -> Diagnostic:
    """No parameter changes by more than its interval."""
    ratio = np.abs(shift.limit) / _half(report)
    worst = int(ratio.argmax())
    return Diagnostic(
        "good",
        f"The {shift.refinement.of} hardly moves parameters: its whole error, extrapolated from a "
        f"fit {shift.refinement.text}, is at most {ratio[worst]:.2g} of an interval's half-width "
        f"({report.estimate.names[worst]}).",
    )
