"""Equilibria of plans for four, six and eight lines, on cells and on sparse polynomials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.command import SCENES, Scenes, check_scenes, command_app
from benchmarks.planning.cases import CASES, Case, mesh_of
from benchmarks.planning.tables import median_and_range
from sofa_softctl.cli.app import run_app
from sofa_softctl.cli.options import Json, Quiet, print_json
from sofa_softctl.errors import MapError, UsageError
from sofa_softctl.scene.session.loader import load_scene
from sofa_softctl.surrogate.grid.evaluation import Neighbour
from sofa_softctl.surrogate.models.robot import PlannedRobot
from sofa_softctl.surrogate.planning.planner import Plan
from sofa_softctl.view.terminal.run import Terminal

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


def show_dimensions(rows: Any) -> None:
    """Print rows of `measure_dimensions`: median, least and largest over the cases."""
    table = Table(
        title="Plans of a circle of the arm of many_lines.py: median over the cases (range)",
        caption="Error: the largest of the map at fresh points beside the plan. Below: share of "
        "them at which it is below its estimate.",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("lines, grid", no_wrap=True)
    for name in ("amplitude", "equilibria", "expected", "error, mm", "below", "s", "MB"):
        table.add_column(name, justify="right")
    names = ("amplitude", "equilibria", "expected", "error", "below", "seconds", "megabytes")
    for kind in dict.fromkeys((row.lines, row.grid) for row in rows):
        these = [row for row in rows if (row.lines, row.grid) == kind]
        columns = ([getattr(row, name) for row in these] for name in names)
        texts = [
            median_and_range(sorted(each for each in values if each is not None))
            for values in columns
        ]
        table.add_row(f"{kind[0]}, {kind[1]}", *texts)
    Console().print(table)


def dimensions(
    scenes: Scenes = SCENES,
    lines: Annotated[
        str, typer.Option(metavar="D,...", help="Numbers of lines, of 4, 6 and 8.")
    ] = "4,6,8",
    cases: Annotated[int, typer.Option(help="Perturbed cases of each.", min=1, max=5)] = 5,
    grid: Annotated[str, typer.Option(help="cells, sparse, or both.")] = "both",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Planning: equilibria for four, six and eight lines, on cells and on sparse polynomials.

    Cells of eight lines take 5,800 equilibria a case, some minutes and 0.7 GB.
    """
    check_scenes(scenes)
    wanted = [int(each) if each.strip().isdigit() else 0 for each in lines.split(",")]
    if any(each not in SIZES for each in wanted):
        raise UsageError(f"--lines must be some of 4, 6 and 8, such as 6,8; got '{lines}'.")
    if grid not in ("cells", "sparse", "both"):
        raise UsageError(f"--grid must be cells, sparse or both; got '{grid}'.")
    show = Terminal(quiet=quiet or as_json)
    with show.status("planning on cells and on sparse polynomials") as progress:
        rows = measure_dimensions(
            scenes,
            progress,
            lines=wanted,
            cases=CASES[:cases],
            grids=("cells", "sparse") if grid == "both" else (grid,),
        )
    if as_json:
        print_json([row.to_dict() for row in rows])
    elif not quiet:
        show_dimensions(rows)


app = command_app(
    dimensions,
    "python -m benchmarks.dimensions",
    "python -m benchmarks.dimensions --lines 6 --cases 1",
    "python -m benchmarks.dimensions --grid sparse --json",
)

if __name__ == "__main__":
    run_app(app)
