"""Base class of a robot's models for planning."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sofa_softctl.status import Status
from sofa_softctl.surrogate.grid.affine_model import Affine
from sofa_softctl.surrogate.planning.cost_estimate import CostEstimate
from sofa_softctl.surrogate.planning.line_dynamics import LineDynamics
from sofa_softctl.surrogate.planning.planner import Iteration, Plan, plan
from sofa_softctl.surrogate.planning.program.settings import Settings
from sofa_softctl.surrogate.planning.program.transcription import PlanningProblem


class RobotModel(ABC):
    """A map of a robot's equilibria, its projected dynamics, and how plans are made with them.

    Args:
        dynamics: The projected dynamics on the map.
    """

    def __init__(self, dynamics: LineDynamics) -> None:
        self.dynamics = dynamics

    @property
    @abstractmethod
    def evaluations(self) -> int:
        """Number of evaluations of the exact map, worker processes included."""

    @abstractmethod
    def affine(self, a: np.ndarray) -> Affine | None:
        """Affine map of an equilibrium near coordinates a, (d,); None if there is none."""

    @abstractmethod
    def prepare(self, problem: PlanningProblem) -> Plan | None:
        """A first guess of a plan, as from `rehearse`, and what it allows to choose before."""

    @abstractmethod
    def plan(
        self,
        problem: PlanningProblem,
        guess: Plan | None = None,
        settings: Settings | None = None,
        progress: Callable[[Iteration], None] | None = None,
    ) -> Plan:
        """See `PlannedRobot.plan`."""

    def outputs(self, a: np.ndarray) -> np.ndarray:
        """Outputs at coordinates a (K, d) [length], shape (K, n)."""
        return self.dynamics.embedding.at(a).value

    @abstractmethod
    def positions(self, a: np.ndarray) -> np.ndarray:
        """Positions of all nodes at coordinates a (K, d) [length], shape (K, N, 3)."""

    def rehearse(self, problem: PlanningProblem, settings: Settings | None = None) -> Plan | None:
        """Plan on the affine map of one equilibrium near the start, in milliseconds.

        None if there is no such equilibrium, or no optimum.
        """
        affine = self.affine(problem.a_first)
        if affine is None:
            return None
        found = plan(self.on_affine(problem, affine), settings=settings)
        return found if found.status in (Status.SOLVED, Status.CLOSEST_FEASIBLE) else None

    def on_affine(self, problem: PlanningProblem, affine: Affine) -> PlanningProblem:
        """The problem with an affine map in place of this one."""
        return replace(problem, dynamics=self.dynamics.on(affine))

    def estimate(self, a: np.ndarray, workers: int = 0) -> CostEstimate | None:
        """Estimated cost of a plan along coordinates a (K, d); None if it is not known."""
        del a, workers
        return None

    def error(self, a: np.ndarray) -> float | None:
        """Estimated largest error of the map at coordinates a (K, d) [length]; None if unknown."""
        del a
        return None

    def nearest(self, x: np.ndarray, guess: np.ndarray) -> np.ndarray:
        """See `PlannedRobot.nearest`."""
        raise ValueError("A robot with the exact map has no coordinates to compare: use a grid.")

    def to_dict(self) -> dict[str, Any]:
        """What its map took, for JSON; None where it has nothing to say."""
        return dict.fromkeys(
            (
                "corners",
                "from_store",
                "branching",
                "refused",
                "coordinates",
                "lost",
                "damaged",
                "unsaved",
            )
        )
