"""Optimisation of a motion: iterations of one of two methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sofa_softctl.surrogate.planning.program.collocation import Collocation
from sofa_softctl.surrogate.planning.program.reduced_space import ReducedSpace
from sofa_softctl.surrogate.planning.program.settings import (
    Ended,
    Method,
    Settings,
    TrustRegionIteration,
)
from sofa_softctl.surrogate.planning.program.transcription import PlanningProblem, Trial

SEARCHES: Mapping[Method, type[Collocation | ReducedSpace]] = {
    "collocation": Collocation,
    "reduced": ReducedSpace,
}


def optimise(
    problem: PlanningProblem,
    trial: Trial,
    settings: Settings,
    report: Callable[[TrustRegionIteration], None],
) -> Ended:
    """Find a local optimum of the problem from a trial with inputs within their limits."""
    search = SEARCHES[settings.method](problem, trial, settings)
    for _ in range(settings.iterations):
        radius = search.radius
        accepted = search.iterate()
        trial = search.trial
        report(TrustRegionIteration(search.merit, trial.cost, trial.defect, radius, accepted))
        if search.converged or search.stuck:
            break
    return Ended(
        trial,
        search.balanced,
        search.converged,
        search.stuck,
        search.stationarity,
        tuple(search.answers.notes),
        search.answers.fallback,
    )
