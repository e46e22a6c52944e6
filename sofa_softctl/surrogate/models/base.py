"""Models of a robot for planning: base class, exact map, and base class of interpolated maps.

With the exact map, planning takes an equilibrium per instant and iteration.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.status import Status
from sofa_softctl.surrogate.costs.line_dynamics import LineDynamics
from sofa_softctl.surrogate.grid.affine_model import Affine, affine_near
from sofa_softctl.surrogate.grid.reduced_basis import ReducedBasisGrid
from sofa_softctl.surrogate.grid.sampled import SampledMap
from sofa_softctl.surrogate.models.exact_map import ExactMap
from sofa_softctl.surrogate.planning.cost_estimate import CostEstimate
from sofa_softctl.surrogate.planning.planner import Iteration, Plan, plan
from sofa_softctl.surrogate.program.settings import Settings
from sofa_softctl.surrogate.program.transcription import Limits, PlanningProblem


class RobotModel(ABC):
    """Map of a robot's equilibria, projected dynamics, and planning with them.

    Args:
        dynamics: Projected dynamics on the map.
    """

    def __init__(self, dynamics: LineDynamics) -> None:
        self.dynamics = dynamics

    @property
    @abstractmethod
    def evaluations(self) -> int:
        """Number of evaluations of the exact map, including worker processes."""

    @abstractmethod
    def affine(self, a: np.ndarray) -> Affine | None:
        """Return the affine map of an equilibrium near coordinates a, (d,), or None."""

    @abstractmethod
    def prepare(self, problem: PlanningProblem) -> Plan | None:
        """Return a first guess of a plan, and choose the settings that depend on it."""

    @abstractmethod
    def plan(
        self,
        problem: PlanningProblem,
        guess: Plan | None = None,
        settings: Settings | None = None,
        progress: Callable[[Iteration], None] | None = None,
    ) -> Plan:
        """Plan as explained in `PlannedRobot.plan`."""

    def outputs(self, a: np.ndarray) -> np.ndarray:
        """Return the outputs at coordinates a (K, d) [length], shape (K, n)."""
        return self.dynamics.embedding.at(a).value

    @abstractmethod
    def positions(self, a: np.ndarray) -> np.ndarray:
        """Return the positions of all nodes at coordinates a (K, d) [length], shape (K, N, 3)."""

    def rehearse(self, problem: PlanningProblem, settings: Settings | None = None) -> Plan | None:
        """Plan on the affine map of one equilibrium near the start, in milliseconds.

        None if there is no such equilibrium, or no optimum.
        """
        affine = self.affine(problem.a_first)
        if affine is None:
            return None
        rehearsed = plan(self.on_affine(problem, affine), settings=settings)
        return rehearsed if rehearsed.status in (Status.SOLVED, Status.CLOSEST_FEASIBLE) else None

    def on_affine(self, problem: PlanningProblem, affine: Affine) -> PlanningProblem:
        """Return the problem with an affine map in place of this one."""
        return replace(problem, dynamics=self.dynamics.on(affine))

    def estimate(self, a: np.ndarray, workers: int = 0) -> CostEstimate | None:
        """Estimate the cost of planning along coordinates a (K, d), or return None if unknown."""
        del a, workers
        return None

    def error(self, a: np.ndarray) -> float | None:
        """Estimate the largest error of the map at coordinates a (K, d) [length], or None."""
        del a
        return None

    def nearest(self, x: np.ndarray, guess: np.ndarray) -> np.ndarray:
        """Return the coordinates of the equilibrium nearest to positions, weighted by mass."""
        raise ValueError("A robot with the exact map has no coordinates to compare: use a grid.")

    def to_dict(self) -> dict[str, Any]:
        """Return counts of the map's evaluations, JSON-serialisable; None if they do not apply."""
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


class ExactModel(RobotModel):
    """Planning with the exact map; plans start from rest, unless a guess is given.

    Args:
        exact: Exact map.
        dynamics: Projected dynamics on the map.
    """

    def __init__(self, exact: ExactMap, dynamics: LineDynamics) -> None:
        super().__init__(dynamics)
        self.map = exact

    @property
    @override
    def evaluations(self) -> int:
        return self.map.count

    @override
    def affine(self, a: np.ndarray) -> Affine:
        jet = self.map.at(a[None])
        return Affine(a, jet.value[0], jet.gradient[0])

    def prepare(self, problem: PlanningProblem) -> None:
        """Return None: a guess would cost an equilibrium."""

    @override
    def plan(
        self,
        problem: PlanningProblem,
        guess: Plan | None = None,
        settings: Settings | None = None,
        progress: Callable[[Iteration], None] | None = None,
    ) -> Plan:
        return plan(
            problem,
            None if guess is None else guess.u,
            None if guess is None else guess.a,
            settings=settings,
            progress=progress,
            evaluations=lambda: self.evaluations,
        )

    @override
    def positions(self, a: np.ndarray) -> np.ndarray:
        return self.dynamics.recover(a)


class InterpolatedModel(RobotModel):
    """Planning with an interpolated map, in a reduced basis of positions.

    Args:
        exact: Exact map.
        grid: Samples of the exact map.
        limits: Limits of coordinates.
        step: Time step, tension of a control of 1, and damping, as `LineDynamics` takes them.
        coordinates: Size of the reduced basis.
    """

    grid: SampledMap

    def __init__(
        self,
        exact: ExactMap,
        grid: SampledMap,
        limits: Limits,
        step: tuple[Any, ...],
        coordinates: int,
    ) -> None:
        self.grid, self.limits = grid, limits
        self.reduced = ReducedBasisGrid(grid, exact.layout, exact.masses(), coordinates=coordinates)
        reduced = self.reduced
        super().__init__(LineDynamics(reduced, reduced.layout, reduced.mass, *step))

    @property
    @override
    def evaluations(self) -> int:
        return self.grid.counts.evaluations

    def affine(self, a: np.ndarray) -> Affine | None:
        """Return the affine map of the nearest corner of the coarsest level, or None."""
        return affine_near(self.reduced, a)

    @override
    def positions(self, a: np.ndarray) -> np.ndarray:
        return self.reduced.positions(a)

    @override
    def error(self, a: np.ndarray) -> float | None:
        errors = self.grid.error_estimate(a)
        return float(errors.max()) if np.isfinite(errors).all() else None

    @override
    def nearest(self, x: np.ndarray, guess: np.ndarray) -> np.ndarray:
        rows, a = self.dynamics.layout.position, np.array(guess, float)
        for _ in range(30):
            step_max = self._reach(a)
            jet = self.dynamics.embedding.at(a[None])
            residual = self.reduced.coordinates_of(x) - jet.value[0, rows]
            step = np.linalg.lstsq(jet.gradient[0, rows], residual, rcond=None)[0]
            next_a = a + np.clip(step, -step_max, step_max)
            next_a = np.clip(next_a, self.limits.a_min, self.limits.a_max)
            change, a = np.abs(next_a - a).max(), next_a
            if change < 1e-10:
                break
        return a

    def _reach(self, a: np.ndarray) -> float:
        """Return the largest step from coordinates a (d,), after preparing the map for it."""
        del a
        return np.inf

    @override
    def to_dict(self) -> dict[str, Any]:
        counts, store = self.grid.counts, self.grid.corners.store
        return {
            "corners": {str(level): count for level, count in sorted(counts.exact.items())},
            "from_store": counts.from_store,
            "branching": counts.branching,
            "refused": counts.refused,
            "coordinates": self.reduced.used_coordinates,
            "lost": self.reduced.lost,
            "damaged": None if store is None else store.damaged_count,
            "unsaved": None if store is None else store.unsaved_count,
        }
