"""Robot of a scene for planning: its map on a grid, and its projected dynamics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.errors import MapError
from sofa_softctl.scene.equilibrium import flutter_number
from sofa_softctl.status import Status
from sofa_softctl.surrogate.exact_map import ExactMap
from sofa_softctl.surrogate.grid.affine_model import Affine, affine_near
from sofa_softctl.surrogate.grid.cells.adaptive import AdaptiveGrid
from sofa_softctl.surrogate.grid.cells.interpolant import Interpolant
from sofa_softctl.surrogate.grid.cells.uniform import Grid
from sofa_softctl.surrogate.grid.reduced_basis import ReducedBasisGrid
from sofa_softctl.surrogate.grid.sparse.sparse import SparseGrid
from sofa_softctl.surrogate.grid.storage.store import Store
from sofa_softctl.surrogate.grid_notes import with_grid_notes
from sofa_softctl.surrogate.planning.costs import InputCost, OutputCost
from sofa_softctl.surrogate.planning.dynamics import Dynamics
from sofa_softctl.surrogate.planning.obstacles.obstacle import Obstacle
from sofa_softctl.surrogate.planning.planner import Iteration, Plan, plan
from sofa_softctl.surrogate.planning.probes import Probe
from sofa_softctl.surrogate.planning.program.transcription import Limits, PlanningProblem, evaluate
from sofa_softctl.surrogate.planning.program.trust_region import Settings
from sofa_softctl.surrogate.planning.sparse.rounds import WIDTH_MIN, plan_in_rounds

GRIDS = ("auto", "cells", "sparse")
"""Kinds of grids."""
SPARSE_FROM = 5
"""Number of lines from which on "auto" is "sparse": a cell has 32 corners."""

CELLS_OFF = 2.0
"""Cells that a plan may be off its guess where planning begins [-]."""
NEAREST = 0.1
"""Largest step of a coordinate in `PlannedRobot.nearest` on a sparse grid, sampled so far [-]."""


@dataclass(frozen=True, eq=False)
class Task:
    """Task of a plan, from a scene file's TASKS."""

    probe: Probe
    """Point of the task, recorded as plan.spot."""
    outputs: tuple[OutputCost, ...] = ()
    """Costs of the robot's outputs, such as `Following`."""
    inputs: tuple[InputCost, ...] = ()
    """Costs of the tensions: `Effort`, `Smoothness`."""
    obstacles: tuple[Obstacle, ...] = ()
    """Obstacles of points."""
    rest: bool = False
    """Whether the robot rests at the end."""


class PlannedRobot:
    """A scene's robot for planning.

    Slack lines have coordinates a little above and below 0: 0 is in the middle of a cell of the
    finest level, and inside on all levels, which avoids cells on both sides.

    Args:
        scene: Scene file.
        scale: Tension of a control of 1 [force].
        spacing: Delta x, spacing of the coarsest level [-].
        eta: Least spacing of a level [-].
        tolerance: Estimated error of positions above which a cell is split in a later round
            [length]; None: all are. On a sparse grid, the error that ends sampling; None: that of
            `sparse_rounds.ACCURACY`.
        grid: "cells" with 2^d corners each, "sparse" polynomials, which want fewer equilibria for
            many lines, or "auto": sparse from `SPARSE_FROM` lines on.
        points: Paths of nodes whose points are outputs, such as ("/arm/beam",).
        u_max: Largest control; plans take controls from 0 to it [-].
        replay_tolerance: Largest distance of a task's point from its planned path when the plan is
            replayed on the full model [length]; None: 1 % of the largest side of the box around
            the robot.
        line_stiffness: Whether the scene's steps have the stiffness that tensions give to the
            lines, see `LineStiffness`. Without, they are as SOFA's are, and may flutter.
        reach: Range of coordinates beyond that of controls, for inertia [-].
        rate: Largest change of a control [1 / time]; the robot starts without tension.
        parameters: Parameters of createScene.
        dt: Time step of the projected dynamics [time]; None: the scene's.
        coordinates: Size of the grid's reduced basis, a multiple of three; plans say when it is
            too small.
        store: File of corners for later runs; None: memory alone.
        executor: Evaluates corners in parallel.
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
        grid: str = "auto",
        points: Sequence[str] = (),
        u_max: float = 1.0,
        reach: float = 0.25,
        rate: float = 5.0,
        replay_tolerance: float | None = None,
        line_stiffness: bool = True,
        parameters: dict[str, Any] | None = None,
        dt: float | None = None,
        coordinates: int = 150,
        store: str | Path | None = None,
        executor: Executor | None = None,
        exact: bool = False,
    ) -> None:
        _check_positive(scale=scale, spacing=spacing, eta=eta, u_max=u_max, rate=rate)
        if reach < 0.0:
            raise ValueError(f"reach must not be negative. Got: {reach}")
        if grid not in GRIDS:
            raise ValueError(f"grid must be one of {', '.join(GRIDS)}. Got: {grid!r}")
        self.map = ExactMap(scene, scale=scale, points=points, parameters=parameters)
        if replay_tolerance is None:
            replay_tolerance = 0.01 * self.map.map.size
        _check_positive(replay_tolerance=replay_tolerance)
        self.replay_tolerance, self.line_stiffness = replay_tolerance, line_stiffness
        self.rounds = max(int(np.ceil(np.log2(spacing / eta))), 0)
        self.limits = Limits(u_max=u_max, rate=rate, a_min=-reach, a_max=u_max + reach)
        self.dt = self.map.dt if dt is None else dt
        mass = self.map.masses()
        step = (self.dt, scale, *self.map.damping)
        self.tolerance = tolerance
        self.grid: Interpolant | SparseGrid | None = None
        if exact:
            self.rounds = 0
            self.dynamics = Dynamics(self.map, self.map.layout, mass, *step)
            return
        d = self.map.dimension
        given: dict[str, Any] = {
            "origin": -0.5 * spacing / 2**self.rounds,
            "store": None if store is None else Store(store, self.map.model),
            "executor": executor,
        }
        if grid == "sparse" or (grid == "auto" and d >= SPARSE_FROM):
            given |= {"lower": self.limits.a_min, "upper": self.limits.a_max}
            self.grid = SparseGrid(self.map, np.full(d, spacing), **given)
        elif tolerance is None:
            self.grid = Grid(self.map, np.full(d, spacing), **given)
        else:
            self.grid = AdaptiveGrid(self.map, np.full(d, spacing), tolerance, level=0, **given)
        self.compressed = ReducedBasisGrid(
            self.grid, self.map.layout, mass, coordinates=coordinates
        )
        layout, mass = self.compressed.layout, self.compressed.mass
        self.dynamics = Dynamics(self.compressed, layout, mass, *step)

    @property
    def evaluations(self) -> int:
        """Number of evaluations of the exact map, worker processes included."""
        return self.map.count if self.grid is None else self.grid.counts.evaluations

    def plan(
        self,
        task: Task,
        instants: int,
        *,
        start: np.ndarray | None = None,
        before: np.ndarray | None = None,
        tension: np.ndarray | None = None,
        offset: np.ndarray | None = None,
        guess: Plan | None = None,
        settings: Settings | None = None,
        progress: Callable[[Iteration], None] | None = None,
    ) -> Plan:
        """Plan by Algorithm 1, from that of `rehearse` if its cost is finite.

        With the exact map it starts from rest, unless a guess is given.

        Args:
            task: The task.
            instants: K, number of instants.
            start: Initial coordinates, such as from `nearest` [-], shape (d,); None: at rest
                without tension.
            before: Coordinates a step earlier [-], shape (d,); None: at rest.
            tension: Previous controls, for the rate [-], shape (d,); None: those that hold the
                start.
            offset: What the outputs have beyond the map's, see `PlanningProblem`.
            guess: Result of `rehearse`, if there is one, or a plan to start from.
            settings: Settings of the optimiser.
            progress: Called after each iteration.
        """
        problem = self._posed(task, instants, start, before, tension, offset)
        if guess is None and self.grid is not None:
            guess = self.rehearse(problem, settings)
        if isinstance(self.grid, SparseGrid):
            return self._plan_on_sparse(problem, guess, settings, progress)
        self.choose_level(problem, guess)
        if guess is not None and not self._is_start(problem, guess):
            guess = None
        found = plan(
            problem,
            None if guess is None else guess.u,
            None if guess is None else guess.a,
            refine=None if self.grid is None else self._refine,
            rounds=self.rounds if self.grid is None else self.rounds - self.grid.level,
            settings=settings,
            progress=progress,
            evaluations=lambda: self.evaluations,
        )
        return found if self.grid is None else with_grid_notes(found, problem, self.compressed)

    def problem(
        self,
        task: Task,
        instants: int,
        *,
        start: np.ndarray | None = None,
        before: np.ndarray | None = None,
        tension: np.ndarray | None = None,
        offset: np.ndarray | None = None,
    ) -> PlanningProblem:
        """Problem of `plan`, with a grid that can be used at its start; arguments as there.

        Raises:
            MapError: the grid is unusable at the start, on all levels.
            ValueError: the start is outside the grid.
        """
        problem = self._posed(task, instants, start, before, tension, offset)
        self._find_level(problem.a_first)
        return problem

    def prepare(self, task: Task, instants: int) -> Plan | None:
        """Plan as `rehearse`, from rest without tension, and choose the level of cells for it.

        Arguments and errors as for `plan`.
        """
        problem = self._posed(task, instants)
        found = None if self.grid is None else self.rehearse(problem)
        self.choose_level(problem, found)
        return found

    def _posed(
        self,
        task: Task,
        instants: int,
        start: np.ndarray | None = None,
        before: np.ndarray | None = None,
        tension: np.ndarray | None = None,
        offset: np.ndarray | None = None,
    ) -> PlanningProblem:
        first = np.zeros(self.map.dimension) if start is None else np.asarray(start, float)
        for name, a in (("start", first), ("before", first if before is None else before)):
            self._check_inside(name, np.asarray(a, float))
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
            offset=offset,
        )

    def rehearse(self, problem: PlanningProblem, settings: Settings | None = None) -> Plan | None:
        """Plan on the affine map of one equilibrium near the start, in milliseconds.

        None if there is no such equilibrium, or no optimum.
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
        """Coordinates of the equilibrium nearest to measured positions, weighted by mass.

        Gauss-Newton steps, within the limits of coordinates.

        Args:
            x: Positions of all nodes [length], shape (N, 3).
            guess: Initial guess [-], shape (d,); None: at rest without tension.

        Returns:
            Shape (d,).

        Raises:
            ValueError: planning is with the exact map.
        """
        if self.grid is None:
            raise ValueError(
                "A robot with the exact map has no coordinates to compare: use a grid."
            )
        rows = self.dynamics.layout.position
        a = np.zeros(self.map.dimension) if guess is None else np.array(guess, float)
        for _ in range(30):
            if isinstance(self.grid, SparseGrid):
                self.grid.cover_point(a, NEAREST)
            jet = self.dynamics.embedding.at(a[None])
            missing = self.compressed.coordinates_of(x) - jet.value[0, rows]
            step = np.linalg.lstsq(jet.gradient[0, rows], missing, rcond=None)[0]
            there = np.clip(a + step, self.limits.a_min, self.limits.a_max)
            if isinstance(self.grid, SparseGrid):
                there = np.clip(there, a - NEAREST, a + NEAREST)
            moved, a = np.abs(there - a).max(), there
            if moved < 1e-10:
                break
        return a

    def map_error(self, a: np.ndarray) -> float | None:
        """Estimated largest error of the map at coordinates a (K, d) [length]; None if unknown."""
        if self.grid is None:
            return None
        errors = self.grid.error_estimate(a)
        return float(errors.max()) if np.isfinite(errors).all() else None

    def locate(self, probe: Probe, a: np.ndarray) -> np.ndarray:
        """Position of a probe at coordinates a (K, d) [length], shape (K, 3)."""
        value = self.dynamics.embedding.at(a).value
        return probe.locate(value[:, list(probe.rows)])[0]

    def positions(self, a: np.ndarray) -> np.ndarray:
        """Positions of all nodes at coordinates a (K, d) [length], shape (K, N, 3)."""
        if self.grid is None:
            return self.dynamics.recover(a)
        return self.compressed.positions(a)

    def flutter(self, a: np.ndarray) -> float:
        """Largest `flutter_number` along a motion a (K, d), at some of its instants [-]."""
        strongest = int(np.argmax(a.sum(axis=1)))
        chosen = sorted({strongest, *np.linspace(0, len(a) - 1, 8).astype(int).tolist()})
        shapes = self.positions(a[chosen])
        pairs = zip(np.maximum(a[chosen], 0.0), shapes, strict=True)
        return max(flutter_number(self.map.map, u, x) for u, x in pairs)

    def _check_inside(self, name: str, a: np.ndarray) -> None:
        low, high = self.limits.a_min, self.limits.a_max
        if np.any(a < low) or np.any(a > high):
            raise ValueError(
                f"{name} must be within the grid, each coordinate from {low} to {high}. Got: "
                f"{np.round(a, 6).tolist()}. Raise u_max or reach, or start nearer."
            )

    def _plan_on_sparse(
        self,
        problem: PlanningProblem,
        guess: Plan | None,
        settings: Settings | None,
        progress: Callable[[Iteration], None] | None,
    ) -> Plan:
        assert isinstance(self.grid, SparseGrid)
        K = problem.instants
        if np.abs(problem.a_first).max() > WIDTH_MIN:  # `Dynamics.unit` is that of rest
            self.grid.cover(np.zeros((1, self.map.dimension)), WIDTH_MIN, np.inf)
            _ = self.dynamics.unit
        rest = problem.within_limits(np.tile(problem.a_first, (K - 1, 1)))
        found = plan_in_rounds(
            problem,
            self.grid,
            rest if guess is None else guess.u,
            np.vstack((problem.a_first, rest)) if guess is None else guess.a,
            tolerance=self.tolerance,
            settings=settings,
            progress=progress,
            evaluations=lambda: self.evaluations,
        )
        return with_grid_notes(found, problem, self.compressed)

    def choose_level(self, problem: PlanningProblem, guess: Plan | None) -> None:
        """Level of cells on which a plan from a guess begins; that of the cells grows only.

        The finest one whose cells are not smaller than half of what the guess may be off: corners
        of coarser levels would be solved to find what is known, and those of finer ones where the
        plan does not go. Level 0 without a guess. Then the first one that can be used at the start.

        Raises:
            MapError: the grid is unusable at the start, on all levels.
        """
        if isinstance(self.grid, Grid) and guess is not None and self.grid.level < self.rounds:
            off = self._off(problem, guess)
            cells = self.grid.spacing.max() / 2.0 ** np.arange(self.rounds + 1)
            self.grid.level = max(self.grid.level, int((CELLS_OFF * cells >= off).sum()) - 1)
        self._find_level(problem.a_first)

    def _off(self, problem: PlanningProblem, guess: Plan) -> float:
        """How far coordinates of a guess may be off [-]; infinite if unknown.

        At the instant that is farthest from the start: there, the plan on the affine map of the
        nearest corner of the finest level is nearer to the truth. The plan needs that corner.
        """
        k = int(np.abs(guess.a - problem.a_first).max(axis=1).argmax())
        affine = affine_near(self.compressed, guess.a[k], level=self.rounds)
        if affine is None:
            return np.inf
        near = replace(problem, dynamics=replace(self.dynamics, embedding=affine))
        if not np.isfinite(evaluate(near, guess.a, guess.u).cost):
            return np.inf
        return float(np.abs(plan(near, guess.u, guess.a).a[k] - guess.a[k]).max())

    def _find_level(self, a: np.ndarray) -> None:
        """Refine until the cell of a can be used."""
        if self.grid is None or isinstance(self.grid, SparseGrid):
            return
        while not self.grid.places(a[None])[0][0]:
            if self.grid.level >= self.rounds:
                reason = [why for _, why in self.grid.failures[-1:]]
                raise MapError(
                    f"There is no plan from a = {np.round(a, 3).tolist()}: near it the robot "
                    "buckles, folds, or snaps to another shape, on every level of the grid. Give "
                    f"a smaller scale or eta, or another start. {' '.join(reason)}".strip()
                )
            self.grid.refine()

    def _is_start(self, problem: PlanningProblem, guess: Plan) -> bool:
        """Whether a guess has a finite cost. Not evaluated for the exact map, which is costly."""
        return self.grid is None or bool(np.isfinite(evaluate(problem, guess.a, guess.u).cost))

    def _refine(self) -> None:
        assert isinstance(self.grid, Interpolant)
        self.grid.refine()


def _check_positive(**values: Any) -> None:
    for name, value in values.items():
        given = np.asarray(value)
        if given.dtype.kind not in "if" or not ((given > 0.0) & (given < np.inf)).all():
            raise ValueError(f"{name} must be a positive number. Got: {value!r}")
