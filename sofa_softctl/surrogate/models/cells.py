"""Planning on a hierarchical grid of cells: coarse first, then finer."""

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

OFF = 2.0
"""Cells that a plan may be off its guess where planning begins [-]."""


class CellsModel(InterpolatedModel):
    """A grid of cells; its level grows as plans ask for it.

    Args:
        rounds: R, the finest level.
        given: Of `InterpolatedModel`.
    """

    grid: Interpolant

    def __init__(self, *given: Any, rounds: int) -> None:
        super().__init__(*given)
        self.rounds = rounds

    def prepare(self, problem: PlanningProblem) -> Plan | None:
        """See `RobotModel`: the plan of `rehearse`, and the level for it."""
        found = self.rehearse(problem)
        self.choose_level(problem, found)
        return found

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
        known = guess is not None and np.isfinite(evaluate(problem, guess.a, guess.u).cost)
        found = plan(
            problem,
            guess.u if guess is not None and known else None,
            guess.a if guess is not None and known else None,
            refine=self.grid.refine,
            rounds=self.rounds - self.grid.level,
            settings=settings,
            progress=progress,
            evaluations=lambda: self.evaluations,
        )
        return with_grid_notes(found, problem, self.reduced)

    @override
    def estimate(self, a: np.ndarray, workers: int = 0) -> CostEstimate:
        return estimate_cells(self.grid, a, self.rounds, workers)

    def choose_level(self, problem: PlanningProblem, guess: Plan | None) -> None:
        """Level of cells on which a plan from a guess begins; that of the cells grows only.

        The finest one whose cells are not smaller than half of what the guess may be off: corners
        of coarser levels would be solved to find what is known, and those of finer ones where the
        plan does not go. Level 0 without a guess, and where cells are split one by one. Then the
        first one that can be used at the start.

        Raises:
            MapError: the grid is unusable at the start, on all levels.
        """
        uniform = not isinstance(self.grid, AdaptiveGrid)
        if uniform and guess is not None and self.grid.level < self.rounds:
            off = self._off(problem, guess)
            cells = self.grid.spacing.max() / 2.0 ** np.arange(self.rounds + 1)
            self.grid.level = max(self.grid.level, int((OFF * cells >= off).sum()) - 1)
        self._make_usable(problem.a_first)

    def _off(self, problem: PlanningProblem, guess: Plan) -> float:
        """How far coordinates of a guess may be off [-]; infinite if unknown.

        At the instant that is farthest from the start: there, the plan on the affine map of the
        nearest corner of the finest level is nearer to the truth. The plan needs that corner.
        """
        k = int(np.abs(guess.a - problem.a_first).max(axis=1).argmax())
        affine = affine_near(self.reduced, guess.a[k], level=self.rounds)
        if affine is None:
            return np.inf
        near = self.on_affine(problem, affine)
        if not np.isfinite(evaluate(near, guess.a, guess.u).cost):
            return np.inf
        return float(np.abs(plan(near, guess.u, guess.a).a[k] - guess.a[k]).max())

    def _make_usable(self, a: np.ndarray) -> None:
        """Refine until the cell of a can be used."""
        while not self.grid.places(a[None])[0][0]:
            if self.grid.level >= self.rounds:
                reason = [why for _, why in self.grid.failures[-1:]]
                raise MapError(
                    f"There is no plan from a = {np.round(a, 3).tolist()}: near it the robot "
                    "buckles, folds, or snaps to another shape, on every level of the grid. Give "
                    f"a smaller scale or eta, or another start. {' '.join(reason)}".strip()
                )
            self.grid.refine()
