"""Table I of the planning paper, first row: with and without the grid."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.surrogate.plan_scene import ScenePlan, plan_scene, prepare_scene
from sofa_softctl.surrogate.planning.dynamics import Dynamics
from sofa_softctl.surrogate.planning.step import step

STEPS = 20
"""Steps of the plan on which errors and times are measured."""
TOLERANCE = 0.01
"""Error of positions that the adaptive grid allows [mm]."""
FINE = (11, 11, 42)
"""Nodes along x, y and z of the arm's finer mesh: 5,082."""


class PaperRow(NamedTuple):
    """First row of Table I of Jia, Pan, Manocha 2019."""

    dofs: int = 1575
    """Degrees of freedom."""
    f: float = 1.5
    """An equilibrium [s]."""
    g: float = 1.51
    """A step with the exact map [s]."""
    g_grid: float = 0.01
    """A step with the grid [s]."""
    iteration_grid: float = 5.5
    """An iteration of the planner with the grid [s]."""
    iteration: float = 305.0
    """An iteration without, as the paper estimates it [s]."""
    speedup: float = 20.0
    """Of the whole plan [-]."""
    evaluations_grid: int = 216
    """Equilibria solved with the grid."""
    evaluations: int = 4800
    """Equilibria solved without."""
    error: float = 7e-6
    """Relative error of a step [-]."""


@dataclass(frozen=True)
class Measured:
    """The same, measured here; and what the paper does not give."""

    dofs: int
    f: float
    g: float
    g_grid: float
    iteration_grid: float
    iteration: float
    speedup: float
    evaluations_grid: int
    evaluations: int
    evaluations_rehearsed: int
    """Equilibria solved without the grid, but from the plan on the affine map, as with it."""
    error: float
    """Largest relative error of a step, positions from the arm's base [-]."""
    error_of_displacement: float
    """The same relative to the displacement from rest, where that is above a hundredth of its
    largest [-]."""
    apart: float
    """Largest difference of tensions between both plans, over the force [-]."""
    evaluations_adaptive: int
    """Equilibria where only cells are split whose error is above `TOLERANCE`."""
    apart_adaptive: float
    """As `apart`, for that plan [-]."""
    seconds_grid: float
    """Time of the plan with the grid [s]."""
    seconds: float
    """Time of the plan without [s]."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON, beside the paper's row."""
        return asdict(self) | {"paper": PaperRow()._asdict()}


def measure_planning(
    folder: Path,
    progress: Callable[[str], None] | None = None,
    *,
    instants: int = 200,
    parameters: dict[str, Any] | None = None,
) -> Measured:
    """Plan the circle with and without the grid; compare plans, steps and times.

    Args:
        folder: Where the scenes are.
        progress: Called with a line of text after each iteration.
        instants: K.
        parameters: Of the scene, such as {"mesh": ...} with that of `finer_mesh`.
    """
    scene = folder / "laser_arm.py"
    plan_scene(scene, "circle", instants=4)  # kernels are compiled
    asked: dict[str, Any] = {"instants": instants, "parameters": parameters, "progress": progress}
    grid = plan_scene(scene, "circle", **asked)
    f = grid.robot.map.seconds / grid.robot.evaluations
    adaptive = plan_scene(scene, "circle", tolerance=TOLERANCE, **asked)
    exact = plan_scene(scene, "circle", exact=True, **asked)
    steps = _steps(grid)
    displacement = steps.displacement > 0.01 * steps.displacement.max()
    return Measured(
        dofs=3 * grid.robot.map.layout.nodes,
        f=f,
        g=float(np.median(steps.seconds)),
        g_grid=float(np.median(steps.seconds_grid)),
        iteration_grid=grid.seconds / grid.plan.iterations,
        iteration=exact.seconds / exact.plan.iterations,
        speedup=exact.seconds / grid.seconds,
        evaluations_grid=grid.robot.evaluations,
        evaluations=exact.robot.evaluations,
        evaluations_rehearsed=_rehearsed(scene, instants, parameters),
        error=float((steps.error / steps.size).max()),
        error_of_displacement=float((steps.error / steps.displacement)[displacement].max()),
        apart=float(np.abs(grid.plan.u - exact.plan.u).max()),
        evaluations_adaptive=adaptive.robot.evaluations,
        apart_adaptive=float(np.abs(adaptive.plan.u - exact.plan.u).max()),
        seconds_grid=grid.seconds,
        seconds=exact.seconds,
    )


@contextmanager
def finer_mesh(folder: Path, nodes: tuple[int, int, int] = FINE) -> Iterator[str]:
    """A mesh of the same arm with more nodes, as a file that is there while the context is open.

    Args:
        folder: Where the scenes are.
        nodes: Along x, y and z.
    """
    with TemporaryDirectory() as kept:
        file = Path(kept) / "arm.vtk"
        script = folder / "meshes" / "arm.py"
        command = [sys.executable, str(script), "--nodes", *map(str, nodes), "--out", str(file)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        yield str(file)


def _rehearsed(scene: Path, instants: int, parameters: dict[str, Any] | None) -> int:
    """Equilibria that a plan with the exact map takes from the plan on the affine map on."""
    with prepare_scene(
        scene, "circle", instants=instants, exact=True, parameters=parameters
    ) as ready:
        robot, task = ready.robot, ready.task
        robot.plan(task, instants, guess=robot.rehearse(robot.problem(task, instants)))
        return robot.evaluations


class _Steps(NamedTuple):
    """Steps of a plan, with the grid and with the exact map."""

    error: np.ndarray
    size: np.ndarray
    displacement: np.ndarray
    seconds: np.ndarray
    seconds_grid: np.ndarray


def _steps(found: ScenePlan) -> _Steps:
    robot, plan = found.robot, found.plan
    map_ = robot.map
    exact = Dynamics(map_, map_.layout, map_.masses(), robot.dt, robot.dynamics.force)
    rest = map_.map.rest.ravel()
    rows = []
    for k in np.linspace(2, len(plan.u) - 1, STEPS).astype(int):
        positions, times = [], []
        for dynamics in (exact, robot.dynamics):
            start = perf_counter()
            a = step(dynamics, plan.a[k], plan.a[k - 1], plan.u[k]).a
            times.append(perf_counter() - start)
            source = exact.recover if dynamics is exact else robot.positions
            positions.append(source(a[None])[0].ravel())
        true, surrogate = positions
        sizes = (surrogate - true, true, true - rest)
        rows.append((*(float(np.linalg.norm(x)) for x in sizes), *times))
    return _Steps(*np.array(rows).T)
