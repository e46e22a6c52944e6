"""Planning on a sparse grid, for robots with many cables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.surrogate.models.base import InterpolatedModel
from sofa_softctl.surrogate.models.grid_notes import with_grid_notes
from sofa_softctl.surrogate.planning.cost_estimate import CostEstimate
from sofa_softctl.surrogate.planning.planner import Iteration, Plan
from sofa_softctl.surrogate.planning.rounds import WIDTH_MIN, estimate_sparse, plan_in_rounds
from sofa_softctl.surrogate.program.settings import Settings
from sofa_softctl.surrogate.program.transcription import PlanningProblem
from sofa_softctl.surrogate.sparse.sparse import SparseGrid


class SparseModel(InterpolatedModel):
    """Planning on polynomials near a trajectory, which are extended in rounds.

    Args:
        tolerance: Error at which sampling ends [length]; by default from `planning.rounds`.
        arguments: Arguments of `InterpolatedModel`.
    """

    grid: SparseGrid

    def __init__(self, *arguments: Any, tolerance: float | None) -> None:
        super().__init__(*arguments)
        self.tolerance = tolerance

    def prepare(self, problem: PlanningProblem) -> Plan | None:
        """Return the plan of `rehearse`."""
        return self.rehearse(problem)

    @override
    def plan(
        self,
        problem: PlanningProblem,
        guess: Plan | None = None,
        settings: Settings | None = None,
        progress: Callable[[Iteration], None] | None = None,
    ) -> Plan:
        guess = guess or self.rehearse(problem, settings)
        if np.abs(problem.a_first).max() > WIDTH_MIN:  # `Dynamics.unit` is that of rest
            self.grid.cover(np.zeros((1, self.grid.dimension)), WIDTH_MIN, np.inf)
            _ = self.dynamics.unit
        rest = problem.within_limits(np.tile(problem.a_first, (problem.instants - 1, 1)))
        result = plan_in_rounds(
            problem,
            self.grid,
            rest if guess is None else guess.u,
            np.vstack((problem.a_first, rest)) if guess is None else guess.a,
            tolerance=self.tolerance,
            settings=settings,
            progress=progress,
            evaluations=lambda: self.evaluations,
        )
        return with_grid_notes(result, problem, self.reduced)

    @override
    def estimate(self, a: np.ndarray, workers: int = 0) -> CostEstimate:
        return estimate_sparse(self.grid, a, self.tolerance, workers)

    @override
    def outputs(self, a: np.ndarray) -> np.ndarray:
        self._cover(a)
        return super().outputs(a)

    @override
    def positions(self, a: np.ndarray) -> np.ndarray:
        self._cover(a)
        return super().positions(a)

    def _cover(self, a: np.ndarray) -> None:
        """Move the tube to coordinates a (K, d), if they are outside it."""
        if not self.grid.places(a)[0].all():
            self.grid.cover(a, WIDTH_MIN, np.inf)

    def _reach(self, a: np.ndarray) -> float:
        step_max = 0.1
        self.grid.cover_point(a, step_max)
        return step_max

    def to_dict(self) -> dict[str, Any]:
        """Return counts of the map's evaluations; samples have no meaningful levels."""
        return super().to_dict() | {"corners": {}}
