"""Planning with the exact map: an equilibrium for each instant and iteration."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sofa_softctl.surrogate.exact_map import ExactMap
from sofa_softctl.surrogate.grid.affine_model import Affine
from sofa_softctl.surrogate.models.base import RobotModel
from sofa_softctl.surrogate.planning.line_dynamics import LineDynamics
from sofa_softctl.surrogate.planning.planner import Iteration, Plan, plan
from sofa_softctl.surrogate.planning.program.settings import Settings
from sofa_softctl.surrogate.planning.program.transcription import PlanningProblem


class ExactModel(RobotModel):
    """The exact map; plans start from rest, unless a guess is given.

    Args:
        exact: The map.
        dynamics: The projected dynamics on it.
    """

    def __init__(self, exact: ExactMap, dynamics: LineDynamics) -> None:
        super().__init__(dynamics)
        self.map = exact

    @property
    def evaluations(self) -> int:
        """See `RobotModel`."""
        return self.map.count

    def affine(self, a: np.ndarray) -> Affine:
        """See `RobotModel`."""
        jet = self.map.at(a[None])
        return Affine(a, jet.value[0], jet.gradient[0])

    def prepare(self, problem: PlanningProblem) -> None:
        """See `RobotModel`: nothing, as a guess costs an equilibrium."""

    def plan(
        self,
        problem: PlanningProblem,
        guess: Plan | None = None,
        settings: Settings | None = None,
        progress: Callable[[Iteration], None] | None = None,
    ) -> Plan:
        """See `PlannedRobot.plan`."""
        return plan(
            problem,
            None if guess is None else guess.u,
            None if guess is None else guess.a,
            settings=settings,
            progress=progress,
            evaluations=lambda: self.evaluations,
        )

    def positions(self, a: np.ndarray) -> np.ndarray:
        """See `RobotModel`."""
        return self.dynamics.recover(a)
