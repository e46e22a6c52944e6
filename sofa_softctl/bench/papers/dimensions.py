"""Equilibria of plans for four, six and eight lines, on cells and on sparse polynomials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from sofa_softctl.bench.papers.planning_cases import CASES, Case, mesh_of
from sofa_softctl.errors import MapError
from sofa_softctl.scene.loader import load_scene
from sofa_softctl.surrogate.grid.evaluation import Neighbour
from sofa_softctl.surrogate.planning.planner import Plan
from sofa_softctl.surrogate.robot import PlannedRobot

SIZES = {4: 45.0, 6: 42.0, 8: 53.0}
"""Radius of the circle that takes an amplitude of 0.4, by the number of lines [mm]."""
FRESH = 40
"""Fresh points at which the map's error is measured."""
BESIDE = 0.02
"""Their distance from the plan [-]."""
INSTANTS = 200


@dataclass(frozen=True)
class DimensionRow:
    """One plan with one kind of grid."""

    lines: int
    case: str
    grid: str
    amplitude: float
    """Largest control of the plan [-]."""
    equilibria: int
    expected: int
    """As estimated before."""
    error: float
    """Largest error of the map at fresh points beside this plan, over all outputs [mm]."""
    estimated: float | None
    """The map's own estimate of it [mm]; None on cells that began on their finest level."""
    below: float | None
    """Share of fresh points at which the error is below the estimate [-]; None as there."""
    seconds: float
    """Time of the plan, with its equilibria [s]."""
    megabytes: float
    """Memory of the equilibria [MB]."""
    status: str

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def measure_dimensions(
    folder: Path,
    progress: Callable[[str], None] | None = None,
    *,
    lines: Sequence[int] = tuple(SIZES),
    cases: Sequence[Case] = CASES,
    grids: Sequence[str] = ("cells", "sparse"),
    instants: int = INSTANTS,
) -> list[DimensionRow]:
    """Plan a circle of the spot of `many_lines.py`, a new robot for each row.

    Args:
        folder: Where the scenes are.
        progress: Called with a line of text before each plan.
        lines: Numbers of lines.
        cases: Variations.
        grids: Kinds of grids.
        instants: K.
    """
    rows = []
    for d in lines:
        for case in cases:
            with mesh_of(folder, case.nodes) as file:
                for grid in grids:
                    if progress is not None:
                        progress(f"{d} lines, {case.name}, {grid}")
                    rows.append(_row(folder / "many_lines.py", d, case, grid, file, instants))
    return rows


def _row(scene: Path, d: int, case: Case, grid: str, mesh: str, instants: int) -> DimensionRow:
    module = load_scene(scene).module
    parameters: dict[str, Any] = {"lines": d, "mesh": mesh, "young_modulus": case.young_modulus}
    parameters["dt"] = module.DURATION / instants
    start = perf_counter()
    robot = PlannedRobot(scene, **(module.SURROGATE | {"grid": grid}), parameters=parameters)
    share = np.arange(instants) / (instants - 1)
    size = case.size * SIZES[d]
    task = module.circle(robot.dynamics.layout, share, size=size, center=case.center)
    problem = robot.problem(task, instants)
    rehearsal = robot.model.prepare(problem)
    assert robot.grid is not None and rehearsal is not None
    expected = robot.model.estimate(rehearsal.a)
    assert expected is not None
    found = robot.plan(problem, guess=rehearsal)
    seconds, equilibria = perf_counter() - start, robot.evaluations
    size_of = robot.grid.corners.data.nbytes
    points, errors = _errors(robot, found, case.seed)
    estimates = robot.grid.error_estimate(points)
    known = np.isfinite(estimates)
    return DimensionRow(
        lines=d,
        case=case.name,
        grid=grid,
        amplitude=float(found.u.max()),
        equilibria=equilibria,
        expected=expected.equilibria,
        error=float(errors.max()),
        estimated=float(estimates[known].max()) if known.any() else None,
        below=float((errors <= estimates)[known].mean()) if known.any() else None,
        seconds=seconds,
        megabytes=size_of / 1e6,
        status=found.status.name,
    )


def _errors(robot: PlannedRobot, found: Plan, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Fresh points beside a plan, (m, d), and the largest error of an output at each [length].

    Half of them are on the plan, half `BESIDE` it. Where the robot buckles there is no error.
    """
    rng = np.random.default_rng(seed)
    a = found.a[rng.integers(len(found.a), size=FRESH)]
    way = rng.normal(size=a.shape)
    way *= (BESIDE * (np.arange(FRESH) % 2) / np.linalg.norm(way, axis=1))[:, None]
    points, errors, near = [], [], None
    for u in np.clip(a + way, robot.limits.a_min, robot.limits.a_max):
        try:
            sample = robot.map(u, near)
        except MapError:
            continue
        near = Neighbour(u, sample)
        points.append(u)
        errors.append(np.abs(robot.grid.at(u[None]).value[0] - sample.value).max())  # type: ignore[union-attr]
    return np.array(points), np.array(errors)
