"""Table I of the planning paper, first row: with and without grids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.planning.cases import CASES, Case, mesh_of
from sofa_softctl.surrogate.costs.line_dynamics import LineDynamics
from sofa_softctl.surrogate.costs.step import step
from sofa_softctl.surrogate.planning.planner import Iteration
from sofa_softctl.surrogate.scene.correction import correct_until_accepted
from sofa_softctl.surrogate.scene.plan_scene import prepare_scene
from sofa_softctl.surrogate.scene.scene_plan import ScenePlan

STEPS = 20
"""Steps of a plan on which errors and times are measured."""
TOLERANCE = 0.01
"""Error of positions that the adaptive grid allows [mm]."""
GRIDS: dict[str, dict[str, Any]] = {
    "sparse": {"grid": "sparse"},
    "cells": {"grid": "cells"},
    "adaptive": {"grid": "cells", "tolerance": TOLERANCE},
}
"""Arguments of `prepare_scene` of each grid: the default, the paper's, and cells that are split
only where the map is off by more than `TOLERANCE`."""


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
class GridRow:
    """A plan on one kind of grid, beside that with the exact map from the same start."""

    evaluations: int
    """Equilibria solved."""
    seconds: float
    """Time of the plan [s]."""
    iteration: float
    """Time of an iteration [s]."""
    g: float
    """A step [s]."""
    fewer: float
    """Equilibria of the exact plan from the same start over these [-]."""
    faster: float
    """Time of that plan over this one's [-]."""
    apart: float
    """Largest difference of tensions between both plans, over the force [-]."""
    error: float
    """Largest relative error of a step, positions from the arm's base [-]."""
    error_of_displacement: float
    """The same relative to the displacement from rest, where that is above a hundredth of its
    largest [-]."""
    error_of_velocity: float
    """Largest error of a step's velocities over the largest velocities [-]."""


@dataclass(frozen=True)
class Replayed:
    """The default plan on the full robot."""

    first: float
    """Largest distance of the spot from the plan [mm]."""
    radius: float
    """Largest error of the spot's radius, once it is on the circle [mm]."""
    corrected: float
    """Largest distance after corrections [mm]."""
    corrections: int
    """Number of corrections."""
    status: str
    """Status of the corrected plan."""


@dataclass(frozen=True)
class PlanningRow:
    """The paper's row, measured here for a circle of one radius; and what the paper does not give.

    Without a grid, "from the same start" is from the plan on the affine map, as with the grids.
    """

    radius: float
    """Radius of the circle, which a case may vary [mm]."""
    case: str
    """Name of the perturbed case."""
    u_max: float
    """Largest tension of the plan over the largest one allowed [-]."""
    dofs: int
    f: float
    g: float
    iteration: float
    """An iteration without a grid [s]."""
    seconds: float
    """Time of the plan without a grid, from the same start [s]."""
    evaluations: int
    """Equilibria of that."""
    evaluations_from_rest: int
    """Equilibria of the plan without a grid from rest."""
    grids: dict[str, GridRow]
    """A row for each of `GRIDS`."""
    replayed: Replayed
    """The default plan on the full robot."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON, beside the paper's row."""
        return asdict(self) | {"paper": PaperRow()._asdict()}


def measure_planning(
    folder: Path,
    progress: Callable[[str], None] | None = None,
    *,
    radius: float = 20.0,
    case: Case = CASES[0],
    instants: int = 200,
) -> PlanningRow:
    """Plan the circle with and without grids; compare plans, steps and times; replay the default.

    Args:
        folder: Where the scenes are.
        progress: Called with a line of text after each iteration.
        radius: Of the circle [mm].
        case: A variation of the arm and the circle.
        instants: K.
    """
    scene = folder / "laser_arm.py"
    x, y = case.center
    with mesh_of(folder, case.nodes) as mesh:
        asked: dict[str, Any] = {
            "instants": instants,
            "parameters": {"mesh": mesh, "young_modulus": case.young_modulus},
            "task_parameters": {"radius": case.size * radius, "x": x, "y": y},
        }
        with prepare_scene(scene, "circle", instants=4) as ready:
            ready.plan()  # kernels are compiled
        found = {kind: _plan(scene, asked | more, progress) for kind, more in GRIDS.items()}
        default = found["sparse"]
        f = default.robot.map.seconds / default.robot.evaluations  # before exact steps ask the map
        exact = _plan(scene, asked | {"exact": True}, progress, rehearsed=True)
        from_rest = _plan(scene, asked | {"exact": True}, progress)
        steps = {kind: _steps(plan) for kind, plan in found.items()}
        first, final = (
            correct_until_accepted(default, corrections=0),
            correct_until_accepted(default, progress=progress),
        )
    return PlanningRow(
        radius=radius,
        case=case.name,
        u_max=float(default.plan.u.max() / default.robot.limits.u_max),
        dofs=3 * default.robot.map.layout.nodes,
        f=f,
        g=float(np.median(steps["sparse"].seconds)),
        iteration=exact.seconds / exact.plan.iterations,
        seconds=exact.seconds,
        evaluations=exact.robot.evaluations,
        evaluations_from_rest=from_rest.robot.evaluations,
        grids={kind: _grid_row(found[kind], exact, steps[kind]) for kind in GRIDS},
        replayed=Replayed(
            first=_path_error(first),
            radius=_radius_error(first, (x, y), case.size * radius),
            corrected=_path_error(final),
            corrections=final.corrections,
            status=final.status.name,
        ),
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


def _grid_row(found: ScenePlan, exact: ScenePlan, steps: _Steps) -> GridRow:
    moved = steps.displacement > 0.01 * steps.displacement.max()
    return GridRow(
        evaluations=found.robot.evaluations,
        seconds=found.seconds,
        iteration=found.seconds / found.plan.iterations,
        g=float(np.median(steps.seconds_grid)),
        fewer=exact.robot.evaluations / found.robot.evaluations,
        faster=exact.seconds / found.seconds,
        apart=float(np.abs(found.plan.u - exact.plan.u).max()),
        error=float((steps.error / steps.size).max()),
        error_of_displacement=float((steps.error / steps.displacement)[moved].max()),
        error_of_velocity=float(steps.error.max() / steps.travel.max()),
    )


def _path_error(found: ScenePlan) -> float:
    return np.nan if found.report is None else found.report.criteria[0].value


def _radius_error(found: ScenePlan, center: tuple[float, float], radius: float) -> float:
    """Once the spot has come to the circle, in the first fifth of the time."""
    if found.replayed_spot is None:
        return np.nan
    spot = found.replayed_spot[len(found.plan.a) // 5 + 2 :, :2] - np.array(center)
    return float(np.abs(np.hypot(*spot.T) - radius).max())


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
    exact = LineDynamics(map_, map_.layout, map_.masses(), robot.dt, robot.dynamics.force)
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
