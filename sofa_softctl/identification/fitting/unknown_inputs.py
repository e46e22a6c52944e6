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
    """All ends, best first."""
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
    """Search with noisy inputs as unknowns, from each distinct minimum with exact inputs.

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
    misfit = StackedResidual(experiments, exact.parameters)
    limits = bounds(misfit.parameters)
    evaluations, found, states = 0, list[SearchResult](), list[list[Any]]()

    def end(of: SearchResult, begin: np.ndarray) -> SearchResult:
        nonlocal evaluations
        rho, steps = approach(misfit, np.clip(begin, *limits), free, progress)
        one = search(misfit, rho, free, most=most, progress=progress)
        evaluations += steps + one.evaluations
        misfit.fits(one.rho)
        found.append(replace(one, start=of.start))
        states.append(kept(misfit))
        return one

    minima = [searches[one.searches[0]] for one in distinct_minima(searches)]
    for one in minima or searches[:1]:
        try:
            first = end(one, one.rho)
            for share in AGAIN:
                end(one, first.rho + share * (one.rho - first.rho))
        except SimulationError as error:
            why = str(error)
    if not found:
        warning = (
            "noisy inputs were taken as exact, since the search with unknown errors of them "
            f"failed: {why} Estimates may be biased"
        )
        return Found(exact, tuple(searches), evaluations, (warning,))
    order = np.argsort([one.cost for one in found], kind="stable")
    keep(misfit, states[order[0]])
    return Found(misfit, tuple(found[k] for k in order), evaluations)
