"""Searches with noisy inputs as unknowns, from the ends of searches with exact ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.fitting.gauss_newton import SearchResult, search
from sofa_softctl.identification.fitting.joint_search import approach, keep, kept
from sofa_softctl.identification.fitting.minima import distinct_minima
from sofa_softctl.identification.fitting.residual import StackedResidual
from sofa_softctl.identification.parameter import bounds

AGAIN = (-0.1, 0.0)
"""Where searches start again: this share of the way back to the end with exact inputs, negative
beyond the new one."""


class Found(NamedTuple):
    """Result of the searches."""

    misfit: StackedResidual
    """Residuals with unknown inputs; with exact ones where these failed, or are all there are."""
    searches: tuple[SearchResult, ...]
    """For each start the best end, best first."""
    branches: tuple[SearchResult, ...] = ()
    """All ends near the best one, best first."""
    evaluations: int = 0
    """Simulations of all experiments, with derivatives."""
    warnings: tuple[str, ...] = ()
    """Why inputs were taken as exact."""


def with_unknown_inputs(
    exact: StackedResidual,
    searches: Sequence[SearchResult],
    free: np.ndarray,
    most: int,
    progress: Callable[[int, float], None] | None = None,
) -> Found:
    """Search with noisy inputs as unknowns, from each distinct end with exact inputs.

    The likeliest inputs may lie on several branches of the motion, each with a minimum of its own.
    So each search starts again near its end, with new inputs.

    Args:
        exact: Residuals with exact inputs.
        searches: Their ends, best first.
        free: Mask of the parameters to fit, shape (n_rho,).
        most: Limit of evaluations of a search.
        progress: Called with steps or evaluations so far, and the last cost.
    """
    experiments = [one.with_unknown_inputs() or one for one in exact.experiments]
    if all(one.unknowns == 0 for one in experiments):
        return Found(exact, tuple(searches))
    ends = _Ends(StackedResidual(experiments, exact.parameters), free, most, progress)
    found = list[SearchResult]()
    for group in _groups(searches):
        best = ends.near(searches[group[0]].rho)
        found += [replace(best, start=searches[i].start) for i in group] if best else []
    if not found:
        warning = (
            "noisy inputs were taken as exact, since the search with unknown errors of them "
            f"failed: {ends.why} Estimates may be biased"
        )
        return Found(exact, tuple(searches), (), ends.evaluations, (warning,))
    keep(ends.misfit, ends.kept)
    found.sort(key=lambda one: one.cost)
    return Found(ends.misfit, tuple(found), ends.branches, ends.evaluations)


def _groups(searches: Sequence[SearchResult]) -> list[tuple[int, ...]]:
    """Searches that ended at the same minimum, and each that ended at none."""
    groups = [one.searches for one in distinct_minima(searches)]
    converged = {i for group in groups for i in group}
    return groups + [(i,) for i in range(len(searches)) if i not in converged]


class _Ends:
    """Searches with unknown inputs."""

    def __init__(
        self,
        misfit: StackedResidual,
        free: np.ndarray,
        most: int,
        progress: Callable[[int, float], None] | None,
    ) -> None:
        self.misfit, self.free, self.most, self.progress = misfit, free, most, progress
        self.evaluations, self.why = 0, ""
        self.branches: tuple[SearchResult, ...] = ()
        """Ends near the best one of all."""
        self.kept: list[Any] = []
        """Unknowns of the best one."""

    def near(self, rho: np.ndarray) -> SearchResult | None:
        """The best end from parameters rho and from near there; None: all failed."""
        pairs = list[tuple[SearchResult, list[Any]]]()
        try:
            pairs.append(self._end(rho))
            first = pairs[0][0].rho
            for share in AGAIN:
                pairs.append(self._end(first + share * (rho - first)))
        except SimulationError as error:
            self.why = str(error)
        pairs.sort(key=lambda pair: pair[0].cost)
        if pairs and (not self.branches or pairs[0][0].cost < self.branches[0].cost):
            self.branches, self.kept = tuple(end for end, _ in pairs), pairs[0][1]
        return pairs[0][0] if pairs else None

    def _end(self, begin: np.ndarray) -> tuple[SearchResult, list[Any]]:
        """A search with new inputs, and the unknowns at its end."""
        inside = np.clip(begin, *bounds(self.misfit.parameters))
        rho, steps, _ = approach(self.misfit, inside, self.free, self.progress)
        self.evaluations += steps
        found = search(self.misfit, rho, self.free, most=self.most, progress=self.progress)
        self.evaluations += found.evaluations
        self.misfit.fits(found.rho)
        return found, kept(self.misfit)
