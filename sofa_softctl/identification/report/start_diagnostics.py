"""Diagnostics on where searches from several starts ended."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sofa_softctl.identification.data.units import quantity
from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.fitting.minima import Minimum
from sofa_softctl.identification.report.diagnostic import Diagnostic

ALIKE = 6.0
"""Minima whose costs differ by less fit alike: the better one is e^3 = 20 times as likely. In units
of the residuals' variance, where that is above 1."""
DIFFERENT = 1e-2
"""Parameters that differ by less than this share are not listed."""
LISTED = 4
"""Most parameters that are listed."""


def on_starts(estimate: Estimate) -> list[Diagnostic]:
    """How many searches ended at the best minimum, and whether another one fits as well."""
    minima, count = estimate.minima, len(estimate.searches)
    if count < 2 or not minima or not estimate.searches[0].termination.status.ok:
        return []
    best, others = minima[0], minima[1:]
    if best.count == count:
        return [Diagnostic("good", f"All {count} searches ended at the same minimum.")]
    text = f"{best.count} of {count} searches ended at the best minimum found"
    if others:
        elsewhere = sum(one.count for one in others)
        which = "another one" if len(others) == 1 else f"{len(others)} others"
        text += f", {elsewhere} at {which}, of cost {others[0].cost:.5g}"
        text += " or more" if len(others) > 1 else ""
        text += f" instead of {best.cost:.5g}"
    unfinished = count - sum(one.count for one in minima)
    text += f"; {unfinished} did not converge." if unfinished else "."
    alike = [one for one in others if one.cost - best.cost <= ALIKE * _variance(estimate)]
    if alike:
        return [Diagnostic("bad", f"{_undecided(estimate, best, alike[0])} {text}")]
    if best.count == 1:
        return [Diagnostic("look", f"{text} There may be a better one: try more --starts.")]
    return [Diagnostic("good", text)]


def _undecided(estimate: Estimate, best: Minimum, other: Minimum) -> str:
    change = _listed(estimate, other.rho, best.rho)
    return (
        f"The data do not decide between two minima: {change} fits nearly as well as the estimate. "
        "Record another motion, or narrow bounds or a prior to what is possible."
    )


def _listed(estimate: Estimate, rho: np.ndarray, best: np.ndarray) -> str:
    """Parameters that differ, those first that differ most."""
    size = np.maximum(np.abs(rho), np.abs(best))
    share = np.abs(rho - best) / np.where(size > 0.0, size, 1.0)
    order: Sequence[int] = [i for i in np.argsort(-share).tolist() if share[i] > DIFFERENT]
    units = [one.unit for one in estimate.parameters]
    found = [
        f"{estimate.names[i]} = {quantity(f'{rho[i]:.4g}', units[i])} instead of {best[i]:.4g}"
        for i in (order or [int(share.argmax())])
    ]
    more = len(found) - LISTED
    return ", ".join(found[:LISTED]) + (f" and {more} more" if more > 0 else "")


def _variance(estimate: Estimate) -> float:
    """Mean square residual, at least 1 [-]."""
    spare = max(estimate.data - int(estimate.free.sum()), 1)
    return max(estimate.searches[0].cost / spare, 1.0)
