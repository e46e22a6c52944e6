"""Optimisation of a trajectory: iterations of a search."""

from __future__ import annotations

from collections.abc import Callable

from sofa_softctl.base.time_limit import check_time
from sofa_softctl.errors import TimeLimitError
from sofa_softctl.surrogate.program.collocation import Collocation
from sofa_softctl.surrogate.program.search import Search
from sofa_softctl.surrogate.program.settings import (
    OptimiserResult,
    Settings,
    TrustRegionIteration,
)
from sofa_softctl.surrogate.program.transcription import PlanningProblem, TrajectoryIterate


def optimise(
    problem: PlanningProblem,
    trial: TrajectoryIterate,
    settings: Settings,
    report: Callable[[TrustRegionIteration], None],
) -> OptimiserResult:
    """Find a local optimum of the problem from a trial with inputs within their limits.

    At the end of a `deadline` the best trajectory so far is returned.
    """
    search: Search = (settings.search or Collocation)(problem, trial, settings)
    timed_out = False
    for _ in range(settings.iterations):
        radius = search.radius
        try:
            check_time()
            accepted = search.iterate()
        except TimeLimitError:
            timed_out = True
            break
        trial = search.trial
        report(TrustRegionIteration(search.merit, trial.cost, trial.defect, radius, accepted))
        if search.converged or search.stuck:
            break
    return OptimiserResult(
        trial,
        search.balanced,
        search.converged,
        search.stuck,
        search.stationarity,
        tuple(search.answers.notes),
        search.answers.fallback,
        timed_out,
    )
