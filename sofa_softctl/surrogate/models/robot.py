"""Robot of a scene for planning: its map, exact or interpolated, and its projected dynamics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.scene.copies.equilibrium import flutter_number
from sofa_softctl.surrogate.cells.adaptive import AdaptiveGrid
from sofa_softctl.surrogate.cells.interpolant import Interpolant
from sofa_softctl.surrogate.cells.uniform import Grid
from sofa_softctl.surrogate.costs.costs import Probe
from sofa_softctl.surrogate.costs.line_dynamics import LineDynamics
from sofa_softctl.surrogate.grid.sampled import SampledMap
from sofa_softctl.surrogate.grid.store import Store
from sofa_softctl.surrogate.models.base import ExactModel, InterpolatedModel, RobotModel
from sofa_softctl.surrogate.models.cells import CellsModel
from sofa_softctl.surrogate.models.exact_map import ExactMap
from sofa_softctl.surrogate.models.sparse import SparseModel
from sofa_softctl.surrogate.models.task import Task
from sofa_softctl.surrogate.planning.planner import Iteration, Plan
from sofa_softctl.surrogate.program.settings import Settings
from sofa_softctl.surrogate.program.transcription import Limits, PlanningProblem
from sofa_softctl.surrogate.sparse.sparse import SparseGrid

GRIDS = ("auto", "cells", "sparse")
"""Kinds of grids."""
SPACING_MIN = 1e-4
"""Smallest sensible spacing and eta [-], since equilibria are accurate to about 1e-6."""


def check_arguments(arguments: Mapping[str, Any]) -> None:
    """Check the arguments of a robot.

    Raises:
        ValueError: An argument has the wrong type or value.
    """
    for name, (is_valid, expected) in _EXPECTED.items():
        value = arguments[name]
        if not is_valid(value):
            raise ValueError(f"{name} must be {expected}. Got: {value!r}")


def _numbers(value: Any) -> np.ndarray | None:
    """Return a finite number or vector as an array, or None for anything else."""
    if isinstance(value, (str, bytes, bool)) or value is None:
        return None
    try:
        array = np.asarray(value)
    except ValueError:
        return None
    good = array.dtype.kind in "iuf" and array.ndim <= 1 and array.size > 0
    return array if good and np.isfinite(array).all() else None


def _number(value: Any, lower: float = 0.0) -> bool:
    array = _numbers(value)
    return array is not None and array.ndim == 0 and bool(array > lower)


def _positive(value: Any) -> bool:
    array = _numbers(value)
    return array is not None and bool((array > 0.0).all())


def _or_none(right: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or right(value)


def _paths(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(path, str) for path in value)


_POSITIVE = (_number, "a positive number")
_EXPECTED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "scale": _POSITIVE,
    "spacing": (lambda value: _number(value, SPACING_MIN), f"a number above {SPACING_MIN:g}"),
    "eta": (lambda value: _number(value, SPACING_MIN), f"a number above {SPACING_MIN:g}"),
    "tolerance": (_or_none(_number), "a positive number, or None"),
    "grid": (lambda value: value in GRIDS, f"one of {', '.join(GRIDS)}"),
    "points": (_paths, "a list of paths of nodes, such as ['/arm/tip']"),
    "u_max": (_positive, "a positive number, or one for each line"),
    "reach": (
        lambda value: _number(value) or (value == 0 and value is not False),
        "a number that is not negative",
    ),
    "rate": (_positive, "a positive number, or one for each line"),
    "replay_tolerance": (_or_none(_number), "a positive number, or None"),
    "line_stiffness": (lambda value: isinstance(value, bool), "True or False"),
    "dt": (_or_none(_number), "a positive number, or None"),
    "coordinates": (
        lambda value: isinstance(value, int) and value > 0 and value % 3 == 0,
        "a positive multiple of three",
    ),
}
"""Check and description of each argument."""


SPARSE_FROM = 3
"""Number of cables at and above which "auto" is "sparse", which then needs less time."""


class PlannedRobot:
    """Robot of a scene for planning.

    A *control* is a cable's tension by `scale`; a *coordinate* is the control whose equilibrium
    the robot's shape is, ahead of or behind the control in motion. The *map* gives the shape from
    coordinates. Its grid is shifted by half of its finest spacing: coordinates of slack cables
    around 0 are then inside a cell on all levels, so that the cells on both sides need no solving.

    Args:
        scene: Scene file.
        scale: Tension of a control of 1 [force].
        spacing: Delta x, spacing of the coarsest level [-].
        eta: Smallest spacing of a level [-].
        tolerance: Estimated error of positions above which a cell is split in a later round
            [length]; by default all are. On a sparse grid, the error at which sampling ends; by
            default from `planning.rounds`.
        grid: "cells" with 2^d corners each, "sparse" polynomials, which need fewer equilibria for
            many cables, or "auto", which is sparse for `SPARSE_FROM` cables and more.
        points: Paths of nodes whose points are outputs, such as ("/arm/beam",).
        u_max: Largest control; plans take controls from 0 to it [-].
        replay_tolerance: Largest distance of a task's point from its planned path in the replay on
            the full model [length]; by default 1 % of the largest side of the box around the robot.
        line_stiffness: Add to the scene's steps the stiffness of cables under tension, see
            `LineStiffness`. Without it they are SOFA's steps, which may flutter.
        reach: Margin of coordinates below 0 and above `u_max`, for overshoot by inertia [-].
        rate: Largest change of a control [1 / time]; the robot starts without tension.
        parameters: Parameters of createScene.
        dt: Time step of the projected dynamics [time]; by default the scene's.
        coordinates: Size of the grid's reduced basis, a multiple of three; plans report if it is
            too small.
        store: File of corners for later runs; by default they are only in memory.
        executor: Evaluates corners in parallel.
        exact: Plan with the exact map, without a grid.

    Attributes:
        map: The exact map.
        model: Model for planning: `ExactModel`, `CellsModel` or `SparseModel`.
        limits: Limits of controls and coordinates.

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
        check_arguments(locals())
        self.map = ExactMap(scene, scale=scale, points=points, parameters=parameters)
        if replay_tolerance is None:
            replay_tolerance = 0.01 * self.map.map.size
        self.replay_tolerance, self.line_stiffness = replay_tolerance, line_stiffness
        self.limits = Limits(u_max=u_max, rate=rate, a_min=-reach, a_max=u_max + reach)
        self.dt = self.map.dt if dt is None else dt
        step = (self.dt, scale, *self.map.damping, lambda: self.map.stress_stiffness)
        self.model: RobotModel
        if exact:
            dynamics = LineDynamics(self.map, self.map.layout, self.map.masses(), *step)
            self.model = ExactModel(self.map, dynamics)
            return
        d = self.map.dimension
        rounds = max(int(np.ceil(np.log2(spacing / eta))), 0)
        grid_options: dict[str, Any] = {
            "origin": -0.5 * spacing / 2**rounds,
            "store": None if store is None else Store(store, self.map.model),
            "executor": executor,
        }
        shared = (self.limits, step, coordinates)
        if grid == "sparse" or (grid == "auto" and d >= SPARSE_FROM):
            grid_options |= {"lower": self.limits.a_min, "upper": self.limits.a_max}
            sparse = SparseGrid(self.map, np.full(d, spacing), **grid_options)
            self.model = SparseModel(self.map, sparse, *shared, tolerance=tolerance)
            return
        cells: Interpolant
        if tolerance is None:
            cells = Grid(self.map, np.full(d, spacing), **grid_options)
        else:
            cells = AdaptiveGrid(self.map, np.full(d, spacing), tolerance, level=0, **grid_options)
        self.model = CellsModel(self.map, cells, *shared, rounds=rounds)

    @property
    def grid(self) -> SampledMap | None:
        """Samples of the map, or None for the exact map."""
        return self.model.grid if isinstance(self.model, InterpolatedModel) else None

    @property
    def dynamics(self) -> LineDynamics:
        """Projected dynamics."""
        return self.model.dynamics

    @property
    def evaluations(self) -> int:
        """Number of evaluations of the exact map, including worker processes."""
        return self.model.evaluations

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
        """Return the planning problem of a task.

        Args:
            task: Task.
            instants: Number K of instants.
            start: Initial coordinates, such as from `nearest` [-], shape (d,); by default at rest
                without tension.
            before: Coordinates one step earlier [-], shape (d,); by default at rest.
            tension: Previous controls, for the rate [-], shape (d,); by default those that hold the
                start.
            offset: Offset of the outputs from the map, see `PlanningProblem`.

        Raises:
            ValueError: The start is outside the grid.
        """
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

    def plan(
        self,
        problem: PlanningProblem,
        *,
        guess: Plan | None = None,
        settings: Settings | None = None,
        progress: Callable[[Iteration], None] | None = None,
    ) -> Plan:
        """Plan by Algorithm 1, from a guess if its cost is finite.

        Args:
            problem: Planning problem from `problem`.
            guess: Plan to start from; by default from `rehearse`, or rest with the exact map.
            settings: Settings of the optimiser.
            progress: Called after each iteration.

        Raises:
            MapError: The map is unusable at the start.
        """
        return self.model.plan(problem, guess, settings, progress)

    def rehearse(self, problem: PlanningProblem, settings: Settings | None = None) -> Plan | None:
        """Plan on the affine map of one equilibrium near the start, in milliseconds.

        None if there is no such equilibrium, or no optimum.
        """
        return self.model.rehearse(problem, settings)

    def nearest(self, x: np.ndarray, guess: np.ndarray | None = None) -> np.ndarray:
        """Return the coordinates of the equilibrium nearest to positions, weighted by mass.

        Gauss-Newton steps are taken within the limits of coordinates.

        Args:
            x: Positions of all nodes [length], shape (N, 3).
            guess: Initial guess [-], shape (d,); by default at rest without tension.

        Returns:
            Shape (d,).

        Raises:
            ValueError: Planning is with the exact map.
        """
        return self.model.nearest(x, np.zeros(self.map.dimension) if guess is None else guess)

    def locate(self, probe: Probe, a: np.ndarray) -> np.ndarray:
        """Return the position of a probe at coordinates a (K, d) [length], shape (K, 3)."""
        value = self.model.outputs(a)
        return probe.locate(value[:, list(probe.rows)])[0]

    def positions(self, a: np.ndarray) -> np.ndarray:
        """Return the positions of all nodes at coordinates a (K, d) [length], shape (K, N, 3)."""
        return self.model.positions(a)

    def flutter(self, a: np.ndarray) -> float:
        """Return the largest `flutter_number` at some instants of coordinates a (K, d) [-]."""
        strongest = int(np.argmax(a.sum(axis=1)))
        sampled = np.linspace(0, len(a) - 1, 8).astype(int)  # each costs a factorisation
        chosen = sorted({strongest, *sampled.tolist()})
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
