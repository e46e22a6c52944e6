"""Fits to recordings whose columns are taken as swapped, or as of the other sign.

Such a fit is far from the data, and so are its parameters. Changes are screened by the cost that
the model, linearised at the start and at the estimate, reaches within bounds; the best are fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import lsq_linear

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.causes.changed import Change, changed, changes
from sofa_softctl.identification.causes.extended import noise_of
from sofa_softctl.identification.experiment import Experiment
from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.fitting.gauss_newton import SearchResult, search
from sofa_softctl.identification.fitting.reduced import reduced
from sofa_softctl.identification.fitting.residual import StackedResidual
from sofa_softctl.identification.fitting.unknown_inputs import with_unknown_inputs
from sofa_softctl.identification.parameter import bounds, starts

FITTED = 4
"""So many changes are fitted."""
MOST = 25
"""Limit of evaluations of a search."""


def fits_of_changes(
    estimate: Estimate,
    experiments: Sequence[Experiment],
    progress: Callable[[str], None] | None = None,
) -> list[tuple[Change, SearchResult]]:
    """The likeliest changes of columns of all recordings, with fits to the changed ones.

    Args:
        estimate: Of the recordings as they are.
        experiments: Those of the estimate, as they were given.
        progress: Called with what is done.
    """
    possible = changes(experiments[0])
    alike = all(_columns(one) == _columns(experiments[0]) for one in experiments)
    if not alike or not estimate.free.any():
        return []
    if progress is not None:
        progress("looking for columns that are swapped or reversed")
    found = []
    for change in _screened(estimate, experiments, possible)[:FITTED]:
        end = _fitted(estimate, changed(experiments, change))
        if end is not None:
            found.append((change, end))
    return sorted(found, key=lambda pair: pair[1].cost)


def _columns(one: Experiment) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(c.name for c in one.inputs), tuple(c.name for c in one.channels)


def _places(estimate: Estimate) -> list[np.ndarray]:
    """Where searches begin: at the given start and at the estimate."""
    begin = np.where(estimate.free, starts(estimate.parameters), estimate.rho)
    return [begin, estimate.rho]


def _screened(
    estimate: Estimate, experiments: Sequence[Experiment], possible: Sequence[Change]
) -> list[Change]:
    """Changes with which the linearised model fits better than without, best first."""
    costs = np.full((len(possible) + 1, 2), np.inf)
    for k, rho in enumerate(_places(estimate)):
        whole = _Linearised(estimate, experiments, rho)
        for i, change in enumerate((None, *possible)):
            costs[i, k] = whole.cost(change)
    least = costs.min(axis=1)
    order = [i for i in np.argsort(least[1:]).tolist() if least[i + 1] < least[0]]
    return [possible[i] for i in order]


class _Linearised:
    """The model, linearised at one place, beside changed recordings."""

    def __init__(
        self, estimate: Estimate, experiments: Sequence[Experiment], rho: np.ndarray
    ) -> None:
        self.estimate, self.experiments, self.rho = estimate, experiments, rho
        self.misfit = self._misfit(experiments)
        try:
            self.fits = self.misfit.fits(rho)
        except SimulationError:
            self.fits = ()

    def cost(self, change: Change | None) -> float:
        """The least cost of the linearised model; infinite: it cannot be simulated."""
        fits, free = self.fits, self.estimate.free
        if not fits:
            return float("inf")
        if change is not None and change.kind == "outputs":
            fits = tuple(replace(fit, measured=change.table(fit.measured)) for fit in fits)
        elif change is not None:
            other = changed(self.experiments, change)
            if other is None:
                return float("inf")
            try:
                fits = self._misfit(other).fits(self.rho)
            except SimulationError:
                return float("inf")
        r, J = reduced(fits, self.misfit.stacked((), self.rho))
        scale = np.array([one.scale for one in self.estimate.parameters])
        lower, upper = bounds(self.estimate.parameters)
        room = [(side - self.rho)[free] / scale[free] for side in (lower, upper)]
        return 2.0 * float(lsq_linear((J * scale)[:, free], -r, room).cost)

    def _misfit(self, experiments: Sequence[Experiment]) -> StackedResidual:
        return StackedResidual(
            experiments, self.estimate.parameters, deviations=noise_of(self.estimate)
        )


def _fitted(estimate: Estimate, experiments: Sequence[Experiment] | None) -> SearchResult | None:
    """The best of the searches from either place; None: not possible."""
    if experiments is None:
        return None
    misfit = StackedResidual(experiments, estimate.parameters, deviations=noise_of(estimate))
    ends = []
    for rho in _places(estimate):
        try:
            ends.append(search(misfit, rho, estimate.free, most=MOST))
        except SimulationError:
            continue
    if not ends:
        return None
    best = min(ends, key=lambda one: one.cost)
    if not any(fit.unknowns for fit in estimate.fits):
        return best
    found = with_unknown_inputs(misfit, [best], estimate.free, MOST)
    return found.searches[0] if not found.warnings else None
