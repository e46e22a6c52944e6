"""The command `python -m benchmarks.loop`."""

from __future__ import annotations

from typing import Annotated

import typer

from benchmarks.command import Plot, command_app, show_result
from benchmarks.loop.measure import measure_identification
from benchmarks.loop.plot import save_study_plot
from benchmarks.loop.table import show_study
from sofa_softctl.cli.app import run_app
from sofa_softctl.cli.files import check_outputs
from sofa_softctl.cli.options import Json, Quiet
from sofa_softctl.view.terminal.run import Terminal


def loop(
    seeds: Annotated[
        int, typer.Option(help="Number of recordings, each with its own noise.", min=1)
    ] = 1,
    plot: Plot = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Identification: a loop's stiffness from an arm's touch."""
    check_outputs(plot=plot)
    with Terminal(quiet=quiet or as_json).status("recording the motion") as progress:
        study = measure_identification(progress, seeds=seeds)
    show_result(study, plot, save_study_plot, show_study, quiet=quiet, as_json=as_json)


app = command_app(
    loop,
    "python -m benchmarks.loop --plot loop.png",
    "python -m benchmarks.loop --seeds 5",
)

if __name__ == "__main__":
    run_app(app)
