"""Table I of the planning paper, first row: with and without the grid."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.surrogate.correction import accepted
from sofa_softctl.surrogate.plan_scene import prepare_scene
from sofa_softctl.surrogate.planning.dynamics import Dynamics
from sofa_softctl.surrogate.planning.planner import Iteration
from sofa_softctl.surrogate.planning.step import step
from sofa_softctl.surrogate.scene_plan import ScenePlan

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
    """The same, measured here for a circle of one radius; and what the paper does not give."""

    radius: float
    """Radius of the circle [mm]."""
    u_max: float
    """Largest tension of the plan over the largest one allowed [-]."""
    dofs: int
    f: float
    g: float
    g_grid: float
    iteration_grid: float
    iteration: float
    speedup: float
    """Of the plan, with the grid and without from the same start [-]."""
    evaluations_grid: int
    evaluations: int
    """Equilibria solved without the grid, from the same start: the plan on the affine map."""
    evaluations_from_rest: int
    """Equilibria solved without the grid, from rest."""
    error: float
    """Largest relative error of a step, positions from the arm's base [-]."""
    error_of_displacement: float
    """The same relative to the displacement from rest, where that is above a hundredth of its
    largest [-]."""
    error_of_velocity: float
    """Largest error of a step's velocities over the largest velocities [-]."""
    apart: float
    """Largest difference of tensions between both plans, over the force [-]."""
    evaluations_adaptive: int
    """Equilibria where only cells are split whose error is above `TOLERANCE`."""
    apart_adaptive: float
    """As `apart`, for that plan [-]."""
    seconds_grid: float
    """Time of the plan with the grid [s]."""
    seconds: float
    """Time of the plan without, from the same start [s]."""
    replayed: float
    """Largest distance of the spot from the plan on the full robot [mm]."""
    replayed_radius: float
    """Largest error of the spot's radius there, once it is on the circle [mm]."""
    corrected: float
    """Largest distance after correction [mm]."""
    corrections: int
    """Number of corrections."""
    status: str
    """Status of the corrected plan."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON, beside the paper's row."""
        return asdict(self) | {"paper": PaperRow()._asdict()}


def measure_planning(
    folder: Path,
    progress: Callable[[str], None] | None = None,
    *,
    radius: float = 20.0,
    instants: int = 200,
    parameters: dict[str, Any] | None = None,
) -> Measured:
    """Plan the circle with and without the grid; compare plans, steps and times; replay it.

    Args:
        folder: Where the scenes are.
        progress: Called with a line of text after each iteration.
        radius: Of the circle [mm].
        instants: K.
        parameters: Of the scene, such as {"mesh": ...} with that of `finer_mesh`.
    """
    scene = folder / "laser_arm.py"
    asked: dict[str, Any] = {
        "instants": instants,
        "parameters": parameters,
        "task_parameters": {"radius": radius},
    }
    with prepare_scene(scene, "circle", instants=4) as ready:
        ready.plan()  # kernels are compiled
    grid, adaptive = (
        _plan(scene, asked | more, progress) for more in ({}, {"tolerance": TOLERANCE})
    )
    exact = _plan(scene, asked | {"exact": True}, progress, rehearsed=True)
    from_rest = _plan(scene, asked | {"exact": True}, progress)
    steps = _steps(grid)
    moved = steps.displacement > 0.01 * steps.displacement.max()
    first, final = accepted(grid, corrections=0), accepted(grid, progress=progress)
    return Measured(
        radius=radius,
        u_max=float(grid.plan.u.max() / grid.robot.limits.u_max),
        dofs=3 * grid.robot.map.layout.nodes,
        f=grid.robot.map.seconds / grid.robot.evaluations,
        g=float(np.median(steps.seconds)),
        g_grid=float(np.median(steps.seconds_grid)),
        iteration_grid=grid.seconds / grid.plan.iterations,
        iteration=exact.seconds / exact.plan.iterations,
        speedup=exact.seconds / grid.seconds,
        evaluations_grid=grid.robot.evaluations,
        evaluations=exact.robot.evaluations,
        evaluations_from_rest=from_rest.robot.evaluations,
        error=float((steps.error / steps.size).max()),
        error_of_displacement=float((steps.error / steps.displacement)[moved].max()),
        error_of_velocity=float(steps.error.max() / steps.travel.max()),
        apart=float(np.abs(grid.plan.u - exact.plan.u).max()),
        evaluations_adaptive=adaptive.robot.evaluations,
        apart_adaptive=float(np.abs(adaptive.plan.u - exact.plan.u).max()),
        seconds_grid=grid.seconds,
        seconds=exact.seconds,
        replayed=_path_error(first),
        replayed_radius=_radius_error(first, radius),
        corrected=_path_error(final),
        corrections=final.corrections,
        status=final.status.name,
    )


def _plan(
    scene: Path,
    asked: dict[str, Any],
    progress: Callable[[str], None] | None,
    *,
    rehearsed: bool = False,
) -> ScenePlan:
    """A plan without a replay; `rehearsed`: also the exact map starts from the affine plan."""
    with prepare_scene(scene, "circle", **asked) as ready:
        if rehearsed:
            problem = ready.robot.problem(ready.task, ready.instants)
            ready = replace(ready, rehearsal=ready.robot.rehearse(problem))
        steps: list[Iteration] = []

        def report(step: Iteration) -> None:
            steps.append(step)
            if progress is not None:
                progress(ready.progress_text(steps))

        return ready.plan(report)


def _path_error(found: ScenePlan) -> float:
    return np.nan if found.report is None else found.report.criteria[0].value


def _radius_error(found: ScenePlan, radius: float) -> float:
    """Once the spot has come to the circle, in the first fifth of the time."""
    if found.replayed_spot is None:
        return np.nan
    spot = found.replayed_spot[len(found.plan.a) // 5 + 2 :, :2]
    return float(np.abs(np.hypot(*spot.T) - radius).max())


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


class _Steps(NamedTuple):
    """Steps of a plan, with the grid and with the exact map."""

    error: np.ndarray
    size: np.ndarray
    displacement: np.ndarray
    travel: np.ndarray
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
        before = robot.positions(plan.a[k][None])[0].ravel()
        sizes = (surrogate - true, true, true - rest, true - before)
        rows.append((*(float(np.linalg.norm(x)) for x in sizes), *times))
    return _Steps(*np.array(rows).T)
