"""The command `python -m benchmarks.libraries`."""

from __future__ import annotations

from typing import Annotated

import typer

from benchmarks.command import Plot, command_app, show_result
from sofa_softctl.cli.app import run_app
from sofa_softctl.cli.files import check_outputs
from sofa_softctl.cli.options import Cluster, Json, Quiet, Workers, note_stop


def libraries(
    seeds: Annotated[int, typer.Option(help="Seeds of building and of tasks.", min=1)] = 5,
    tasks: Annotated[int, typer.Option(help="Fresh tasks of each seed.", min=1)] = 1000,
    steps: Annotated[
        int,
        typer.Option(help="Ours: steps of correction of a known task; 0: fastest answers.", min=0),
    ] = 1,
    workers: Workers = 0,
    cluster: Cluster = "",
    plot: Plot = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Libraries of trajectories: the paper's figures, its method here, ours, and IPOPT.

    Each seed builds a library by the paper's method and one by ours, and asks both the tasks that
    they have never seen. Some minutes a seed; times are of what the workers leave of the machine.
    """
    from benchmarks.libraries.measure import measure_library
    from benchmarks.libraries.plot import save_library_table_plot
    from benchmarks.libraries.table import show_library_table
    from sofa_softctl.base.executors.workers import check_workers
    from sofa_softctl.base.executors.workers import workers as processes
    from sofa_softctl.view.terminal.run import Terminal

    check_workers(workers, cluster)
    check_outputs(plot=plot)
    show = Terminal(quiet=quiet or as_json)
    with (
        note_stop("Nothing was written."),
        processes(workers, cluster) as executor,
        show.status("building libraries") as progress,
    ):
        found = measure_library(
            progress, seeds=seeds, tasks=tasks, building={"steps": steps}, executor=executor
        )
    show_result(
        found, plot, save_library_table_plot, show_library_table, quiet=quiet, as_json=as_json
    )


app = command_app(
    libraries,
    "python -m benchmarks.libraries --workers 2 --plot libraries.png",
    "python -m benchmarks.libraries --seeds 1 --tasks 200",
    "python -m benchmarks.libraries --steps 0 --workers 2",
    "python -m benchmarks.libraries --seeds 10 --json --quiet > libraries.json",
)

if __name__ == "__main__":
    run_app(app)
