"""The command `python -m benchmarks.trajectories`."""

from __future__ import annotations

from typing import Annotated

import typer

from benchmarks.command import Plot, command_app, show_result
from sofa_softctl.cli.app import run_app
from sofa_softctl.cli.files import check_outputs
from sofa_softctl.cli.options import Cluster, Json, Quiet, note_stop


def trajectories(
    seeds: Annotated[int, typer.Option(help="Seeds of positions and masses.", min=1)] = 1,
    plot: Plot = None,
    cluster: Cluster = "",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Libraries of trajectories: mean costs of three actuations, what springs save.

    Two processes solve at the same time, or the workers of a cluster. With a C compiler, programs
    are compiled first, and motions take a sixth of the time.
    """
    from benchmarks.compiled import can_compile
    from benchmarks.trajectories.measure import measure_energies
    from benchmarks.trajectories.plot import save_energy_plot
    from benchmarks.trajectories.table import show_energy
    from sofa_softctl.base.executors.workers import workers as processes
    from sofa_softctl.view.terminal.run import Terminal

    check_outputs(plot=plot)
    show = Terminal(quiet=quiet or as_json)
    with (
        note_stop("Nothing was written."),
        processes(0 if cluster else 2, cluster) as executor,
        show.status("planning 200 motions for each") as progress,
    ):
        found = measure_energies(progress, seeds=seeds, executor=executor, compiled=can_compile())
    show_result(found, plot, save_energy_plot, show_energy, quiet=quiet, as_json=as_json)


app = command_app(
    trajectories,
    "python -m benchmarks.trajectories --plot springs.png",
    "python -m benchmarks.trajectories --seeds 5",
)

if __name__ == "__main__":
    run_app(app)
