"""Base class of a robot's models for planning.

Planning with the exact map: an equilibrium for each instant and iteration.

Base class of models whose map is interpolated from samples of the exact one.
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
        """Coordinates of the equilibrium nearest to measured positions, weighted by mass."""
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
    @override
    def evaluations(self) -> int:
        return self.map.count

    @override
    def affine(self, a: np.ndarray) -> Affine:
        jet = self.map.at(a[None])
        return Affine(a, jet.value[0], jet.gradient[0])

    def prepare(self, problem: PlanningProblem) -> None:
        """See `RobotModel`: nothing, as a guess costs an equilibrium."""

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


ITERATIONS = 30
"""Gauss-Newton steps in `nearest` at most."""


class InterpolatedModel(RobotModel):
    """A map between samples, in a reduced basis of positions.

    Args:
        exact: The exact map.
        grid: Its samples.
        limits: Limits of coordinates.
        step: Time step, tension of a control of 1, and what damps: see `LineDynamics`.
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
        """See `RobotModel`: that of the nearest corner of the coarsest level."""
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
        for _ in range(ITERATIONS):
            reach = self._reach(a)
            jet = self.dynamics.embedding.at(a[None])
            missing = self.reduced.coordinates_of(x) - jet.value[0, rows]
            step = np.linalg.lstsq(jet.gradient[0, rows], missing, rcond=None)[0]
            there = a + np.clip(step, -reach, reach)
            there = np.clip(there, self.limits.a_min, self.limits.a_max)
            moved, a = np.abs(there - a).max(), there
            if moved < 1e-10:
                break
        return a

    def _reach(self, a: np.ndarray) -> float:
        """How far from coordinates a (d,) the map may be asked for; it is known there then."""
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
            "coordinates": self.reduced.used,
            "lost": self.reduced.lost,
            "damaged": None if store is None else store.damaged,
            "unsaved": None if store is None else store.unsaved,
        }
