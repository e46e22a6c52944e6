"""A robot of a scene with all that planning needs: its map on a grid, and its dynamics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.errors import MapError
from sofa_softctl.status import Status
from sofa_softctl.surrogate.exact_map import ExactMap
from sofa_softctl.surrogate.grid.adaptive import AdaptiveGrid
from sofa_softctl.surrogate.grid.affine_model import Affine, affine_near
from sofa_softctl.surrogate.grid.interpolant import Interpolant
from sofa_softctl.surrogate.grid.reduced_basis import ReducedBasisGrid
from sofa_softctl.surrogate.grid.store import Store
from sofa_softctl.surrogate.grid.uniform import Grid
from sofa_softctl.surrogate.planning.costs import InputCost, OutputCost
from sofa_softctl.surrogate.planning.dynamics import Dynamics
from sofa_softctl.surrogate.planning.obstacles import Obstacle
from sofa_softctl.surrogate.planning.planner import Iteration, Plan, plan
from sofa_softctl.surrogate.planning.probes import Probe
from sofa_softctl.surrogate.planning.transcription import Limits, PlanningProblem, evaluate
from sofa_softctl.surrogate.planning.trust_region import Settings


@dataclass(frozen=True, eq=False)
class Task:
    """What a plan is for, as a scene file's TASKS give it."""

    probe: Probe
    """The point that it is about; it is recorded as plan.spot."""
    outputs: tuple[OutputCost, ...] = ()
    """Costs of the robot's outputs, such as `Following`."""
    inputs: tuple[InputCost, ...] = ()
    """Costs of the tensions: `Effort`, `Smoothness`."""
    obstacles: tuple[Obstacle, ...] = ()
    """What points keep out of."""
    rest: bool = False
    """Whether the robot is to rest in the end."""


class PlannedRobot:
    """A scene's robot for planning.

    Lines that hang slack have coordinates a little above and below 0. So that this does not make
    cells on both sides, 0 is in the middle of a cell of the finest level, and inside on all levels.

    Args:
        scene: Scene file.
        scale: Tension of a control of 1 [force].
        spacing: Delta x, spacing of the coarsest level [-].
        eta: Spacing below which no level is made [-].
        tolerance: Estimated error of positions above which a cell is split in a later round
            [length]; None: all are.
        points: Paths of nodes whose points are outputs, such as ("/arm/beam",).
        u_max: Largest control; plans take controls from 0 to it [-].
        reach: How far coordinates may go beyond controls, which inertia asks for [-].
        rate: Largest change of a control [1 / time]; the robot starts without tension.
        parameters: Of createScene.
        dt: Time step of the projected dynamics [time]; None: the scene's.
        store: File in which corners are kept for later runs; None: in memory alone.
        executor: Evaluates several corners at a time.
        exact: Plan with the exact map, without a grid.

    Source: Jia, Pan, Manocha 2019, section IV and Algorithm 1.
    """

    def __init__(
        self,
        scene: str | Path,
        *,
        scale: float,
        spacing: float = 0.5,
        eta: float = 0.2,
        tolerance: float | None = None,
        points: Sequence[str] = (),
        u_max: float = 1.0,
        reach: float = 0.25,
        rate: float = 5.0,
        parameters: dict[str, Any] | None = None,
        dt: float | None = None,
        store: str | Path | None = None,
        executor: Executor | None = None,
        exact: bool = False,
    ) -> None:
        _check_positive(scale=scale, spacing=spacing, eta=eta, u_max=u_max, rate=rate)
        if reach < 0.0:
            raise ValueError(f"reach must not be negative. Got: {reach}")
        self.map = ExactMap(scene, scale=scale, points=points, parameters=parameters)
        self.rounds = max(int(np.ceil(np.log2(spacing / eta))), 0)
        self.limits = Limits(u_max=u_max, rate=rate, a_min=-reach, a_max=u_max + reach)
        self.dt = self.map.dt if dt is None else dt
        mass = self.map.masses()
        self.grid: Interpolant | None = None
        if exact:
            self.rounds = 0
            self.dynamics = Dynamics(self.map, self.map.layout, mass, self.dt, scale)
            return
        d = self.map.dimension
        given: dict[str, Any] = {
            "origin": -0.5 * spacing / 2**self.rounds,
            "store": None if store is None else Store(store, self.map.model),
            "executor": executor,
        }
        if tolerance is None:
            self.grid = Grid(self.map, np.full(d, spacing), **given)
        else:
            self.grid = AdaptiveGrid(self.map, np.full(d, spacing), tolerance, level=0, **given)
        self.compressed = ReducedBasisGrid(self.grid, self.map.layout, mass)
        layout, mass = self.compressed.layout, self.compressed.mass
        self.dynamics = Dynamics(self.compressed, layout, mass, self.dt, scale)

    @property
    def evaluations(self) -> int:
        """How often the exact map was evaluated, also by worker processes."""
        return self.map.count if self.grid is None else self.grid.counts.evaluations

    def plan(
        self,
        task: Task,
        instants: int,
        *,
        start: np.ndarray | None = None,
        before: np.ndarray | None = None,
        tension: np.ndarray | None = None,
        guess: Plan | None = None,
        settings: Settings | None = None,
        progress: Callable[[Iteration], None] | None = None,
    ) -> Plan:
        """A plan by Algorithm 1, from that of `rehearse` on where it has a finite cost.

        With the exact map from rest on, as without anything of this package, unless a guess is
        given.

        Args:
            task: What it is for.
            instants: K, number of instants.
            start: Where the robot is, such as `nearest` finds it from measured positions [-], shape
                (d,); None: at rest without tension.
            before: Where it was a step earlier [-], shape (d,); None: it rests.
            tension: Controls until now, from which the rate counts [-], shape (d,); None: those
                that hold it where it is.
            guess: What `rehearse` gave, if it was asked already.
            settings: Of the optimiser.
            progress: Called after each iteration.
        """
        problem = self.problem(task, instants, start=start, before=before, tension=tension)
        if guess is None and self.grid is not None:
            guess = self.rehearse(problem, settings)
        if guess is not None and not self._is_start(problem, guess):
            guess = None
        return plan(
            problem,
            None if guess is None else guess.u,
            None if guess is None else guess.a,
            refine=None if self.grid is None else self._refine,
            rounds=self.rounds if self.grid is None else self.rounds - self.grid.level,
            settings=settings,
            progress=progress,
            evaluations=lambda: self.evaluations,
        )

    def problem(
        self,
        task: Task,
        instants: int,
        *,
        start: np.ndarray | None = None,
        before: np.ndarray | None = None,
        tension: np.ndarray | None = None,
    ) -> PlanningProblem:
        """What `plan` solves; arguments as there.

        Raises:
            MapError: the grid cannot be used where the robot starts, on any level.
        """
        first = np.zeros(self.map.dimension) if start is None else np.asarray(start, float)
        self._find_level(first)
        return PlanningProblem(
            self.dynamics,
            instants,
            first,
            self.limits,
            outputs=task.outputs,
            inputs=task.inputs,
            obstacles=task.obstacles,
            a_before=before,
            u_before=np.maximum(first, 0.0) if tension is None else tension,
            rest=task.rest,
        )

    def rehearse(self, problem: PlanningProblem, settings: Settings | None = None) -> Plan | None:
        """A plan on the affine map that one equilibrium near the start gives, in milliseconds.

        None where there is no such equilibrium, or no optimum.
        """
        first = problem.a_first
        if self.grid is None:
            jet = self.map.at(first[None])
            affine: Affine | None = Affine(first, jet.value[0], jet.gradient[0])
        else:
            affine = affine_near(self.compressed, first)
        if affine is None:
            return None
        dynamics = replace(self.dynamics, embedding=affine)
        found = plan(replace(problem, dynamics=dynamics), settings=settings)
        return found if found.status in (Status.SOLVED, Status.CLOSEST_FEASIBLE) else None

    def nearest(self, x: np.ndarray, guess: np.ndarray | None = None) -> np.ndarray:
        """Coordinates of the shape of rest nearest to measured positions, by the nodes' masses.

        Gauss-Newton steps, within the limits of coordinates.

        Args:
            x: Positions of all nodes [length], shape (N, 3).
            guess: Where to start [-], shape (d,); None: at rest without tension.

        Returns:
            Shape (d,).

        Raises:
            ValueError: the robot is planned for with the exact map.
        """
        if self.grid is None:
            raise ValueError(
                "A robot with the exact map has no coordinates to compare: use a grid."
            )
        rows = self.dynamics.layout.position
        a = np.zeros(self.map.dimension) if guess is None else np.array(guess, float)
        for _ in range(30):
            jet = self.dynamics.embedding.at(a[None])
            missing = self.compressed.coordinates_of(x) - jet.value[0, rows]
            step = np.linalg.lstsq(jet.gradient[0, rows], missing, rcond=None)[0]
            there = np.clip(a + step, self.limits.a_min, self.limits.a_max)
            moved, a = np.abs(there - a).max(), there
            if moved < 1e-10:
                break
        return a

    def locate(self, probe: Probe, a: np.ndarray) -> np.ndarray:
        """Where a probe is at coordinates a (K, d) [length], shape (K, 3)."""
        value = self.dynamics.embedding.at(a).value
        return probe.locate(value[:, list(probe.rows)])[0]

    def positions(self, a: np.ndarray) -> np.ndarray:
        """Positions of all nodes at coordinates a (K, d) [length], shape (K, N, 3)."""
        if self.grid is None:
            return self.dynamics.recover(a)
        return self.compressed.positions(a)

    def _find_level(self, a: np.ndarray) -> None:
        """Refine until the cell of a can be used."""
        if self.grid is None:
            return
        while not self.grid.places(a[None])[0][0]:
            if self.grid.level >= self.rounds:
                told = [why for _, why in self.grid.failures[-1:]]
                raise MapError(
                    f"There is no plan from a = {np.round(a, 3).tolist()}: near it the robot "
                    "buckles, folds, or snaps to another shape, on every level of the grid. Give "
                    f"a smaller scale or eta, or another start. {' '.join(told)}".strip()
                )
            self.grid.refine()

    def _is_start(self, problem: PlanningProblem, guess: Plan) -> bool:
        """Whether a guess has a finite cost. The exact map is not asked: that would be costly."""
        return self.grid is None or bool(np.isfinite(evaluate(problem, guess.a, guess.u).cost))

    def _refine(self) -> None:
        assert self.grid is not None
        self.grid.refine()


def _check_positive(**values: Any) -> None:
    for name, value in values.items():
        given = np.asarray(value)
        if given.dtype.kind not in "if" or not ((given > 0.0) & (given < np.inf)).all():
            raise ValueError(f"{name} must be a positive number. Got: {value!r}")
