"""The command `python -m benchmarks.planning`."""

from __future__ import annotations

from typing import Annotated

import typer

from benchmarks.command import SCENES, Plot, Scenes, check_scenes, command_app
from sofa_softctl.cli.app import run_app
from sofa_softctl.cli.files import check_outputs
from sofa_softctl.cli.options import Json, Quiet, print_json


def planning(
    scenes: Scenes = SCENES,
    plot: Plot = None,
    radius: Annotated[
        list[float] | None,
        typer.Option(help="Only its Table I, for circles of this radius in mm; repeatable."),
    ] = None,
    cases: Annotated[
        int, typer.Option(help="Perturbed cases of each circle, for a spread.", min=1, max=5)
    ] = 1,
    fine: Annotated[
        bool, typer.Option("--fine", help="With the mesh of 5,082 nodes; an hour and more.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Planning: its Table I, its Lemma IV.1, and what the projection costs. Some minutes."""
    from benchmarks.planning import plot as projection
    from benchmarks.planning import tables
    from benchmarks.planning.cases import CASES, FINE_CASE
    from benchmarks.planning.convergence import measure_convergence
    from benchmarks.planning.measure import PaperRow, measure_planning
    from benchmarks.planning.projection import measure_projection
    from sofa_softctl.view.terminal import run as terminal

    check_scenes(scenes)
    check_outputs(plot=plot)
    show = terminal.Terminal(quiet=quiet or as_json)
    if radius or fine or cases > 1:
        chosen = [FINE_CASE] if fine else CASES[:cases]
        with show.status("planning with and without a grid") as progress:
            rows = [
                measure_planning(scenes, progress, radius=each, case=case)
                for each in radius or [20.0]
                for case in chosen
            ]
        if as_json:
            print_json([row.to_dict() for row in rows])
        elif not quiet:
            tables.show_planning(rows, PaperRow())
        return
    with show.status("planning with and without the grid") as progress:
        row = measure_planning(scenes, progress)
        levels = measure_convergence(scenes, progress)
        costs = measure_projection(scenes, progress)
    if plot is not None:
        projection.save_projection_plot(plot, costs)
    if as_json:
        found = {
            "table": row.to_dict(),
            "convergence": [level.to_dict() for level in levels],
            "projection": costs.to_dict(),
        }
        print_json(found)
    elif not quiet:
        tables.show_planning([row], PaperRow())
        tables.show_convergence(levels)
        tables.show_projection(costs)


app = command_app(
    planning,
    "python -m benchmarks.planning --plot projection.png",
    "python -m benchmarks.planning --radius 20 --radius 40 --radius 80 --radius 120",
    "python -m benchmarks.planning --radius 20 --radius 80 --cases 5",
    "python -m benchmarks.planning --radius 20 --fine",
)

if __name__ == "__main__":
    run_app(app)
