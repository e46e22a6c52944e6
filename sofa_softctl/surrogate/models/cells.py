"""Planning on a hierarchical grid of cells, coarse first, then finer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.errors import MapError
from sofa_softctl.surrogate.cells.adaptive import AdaptiveGrid
from sofa_softctl.surrogate.cells.interpolant import Interpolant
from sofa_softctl.surrogate.grid.affine_model import affine_near
from sofa_softctl.surrogate.models.base import InterpolatedModel
from sofa_softctl.surrogate.models.grid_notes import with_grid_notes
from sofa_softctl.surrogate.planning.cost_estimate import CostEstimate, estimate_cells
from sofa_softctl.surrogate.planning.planner import Iteration, Plan, plan
from sofa_softctl.surrogate.program.settings import Settings
from sofa_softctl.surrogate.program.transcription import PlanningProblem, evaluate


class CellsModel(InterpolatedModel):
    """Planning on a grid of cells, whose level grows as plans need it.

    Args:
        rounds: Finest level R.
        arguments: Arguments of `InterpolatedModel`.
    """

    grid: Interpolant

    def __init__(self, *arguments: Any, rounds: int) -> None:
        super().__init__(*arguments)
        self.rounds = rounds

    def prepare(self, problem: PlanningProblem) -> Plan | None:
        """Return the plan of `rehearse`, and choose the level for it."""
        rehearsed = self.rehearse(problem)
        self.choose_level(problem, rehearsed)
        return rehearsed

    @override
    def plan(
        self,
        problem: PlanningProblem,
        guess: Plan | None = None,
        settings: Settings | None = None,
        progress: Callable[[Iteration], None] | None = None,
    ) -> Plan:
        guess = guess or self.rehearse(problem, settings)
        self.choose_level(problem, guess)
        is_usable = guess is not None and np.isfinite(evaluate(problem, guess.a, guess.u).cost)
        result = plan(
            problem,
            guess.u if guess is not None and is_usable else None,
            guess.a if guess is not None and is_usable else None,
            refine=self.grid.refine,
            rounds=self.rounds - self.grid.level,
            settings=settings,
            progress=progress,
            evaluations=lambda: self.evaluations,
        )
        return with_grid_notes(result, problem, self.reduced)

    @override
    def estimate(self, a: np.ndarray, workers: int = 0) -> CostEstimate:
        return estimate_cells(self.grid, a, self.rounds, workers)

    def choose_level(self, problem: PlanningProblem, guess: Plan | None) -> None:
        """Choose the level of cells on which a plan from a guess begins; it never decreases.

        It is the finest level whose cells are at least half the error of the guess: coarser levels
            would be solved only to find what the guess shows, finer ones in places that the plan
            does not visit. It is 0 without a guess, and if cells are split one by one. Then the
            level is raised until the grid is usable at the start.

        Raises:
            MapError: The grid is unusable at the start, on all levels.
        """
        uniform = not isinstance(self.grid, AdaptiveGrid)
        if uniform and guess is not None and self.grid.level < self.rounds:
            off = self._guess_error(problem, guess)
            cells = self.grid.spacing.max() / 2.0 ** np.arange(self.rounds + 1)
            self.grid.level = max(self.grid.level, int((2.0 * cells >= off).sum()) - 1)
        self._make_usable(problem.a_first)

    def _guess_error(self, problem: PlanningProblem, guess: Plan) -> float:
        """Estimate the error of the coordinates of a guess [-]; infinite if unknown.

        At the instant farthest from the start, the guess is compared with a plan on the affine map
        of the nearest corner of the finest level, which the plan needs in any case.
        """
        k = int(np.abs(guess.a - problem.a_first).max(axis=1).argmax())
        affine = affine_near(self.reduced, guess.a[k], level=self.rounds)
        if affine is None:
            return np.inf
        affine_problem = self.on_affine(problem, affine)
        if not np.isfinite(evaluate(affine_problem, guess.a, guess.u).cost):
            return np.inf
        return float(np.abs(plan(affine_problem, guess.u, guess.a).a[k] - guess.a[k]).max())

    def _make_usable(self, a: np.ndarray) -> None:
        """Refine until the cell of a can be used."""
        while not self.grid.places(a[None])[0][0]:
            if self.grid.level >= self.rounds:
                reason = [message for _, message in self.grid.failures[-1:]]
                raise MapError(
                    f"There is no plan from a = {np.round(a, 3).tolist()}: near it the robot "
                    "buckles, folds, or snaps to another shape, on every level of the grid. Give "
                    f"a smaller scale or eta, or another start. {' '.join(reason)}".strip()
                )
            self.grid.refine()
