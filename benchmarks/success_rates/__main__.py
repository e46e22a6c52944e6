"""The command `python -m benchmarks.success_rates`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.command import SCENES, Scenes, check_scenes, command_app, resume_note
from sofa_softctl.cli.app import run_app
from sofa_softctl.cli.files import check_outputs
from sofa_softctl.cli.options import Cluster, Json, Quiet, Steps, Workers, note_stop, print_json


def success_rates(
    scenes: Scenes = SCENES,
    only: Annotated[str, typer.Option(metavar="ROBOT,...", help="Of these robots only.")] = "",
    sample: Annotated[
        int | None, typer.Option(help="So many runs of each robot, spread over its list.", min=1)
    ] = None,
    steps: Steps = None,
    out: Annotated[
        Path, typer.Option(metavar="FILE.csv", help="A row for each run; goes on if it exists.")
    ] = Path("robust.csv"),
    workers: Workers = 0,
    cluster: Cluster = "",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Inverse control: how often the robots reach their goals, over fixed lists of runs."""
    from benchmarks.success_rates import table as robust_tables
    from benchmarks.success_rates.cases import cases_of
    from benchmarks.success_rates.study import measure_robust
    from sofa_softctl.base.executors.workers import check_workers
    from sofa_softctl.base.executors.workers import workers as processes
    from sofa_softctl.base.files_read import files_below
    from sofa_softctl.view.terminal.run import Terminal

    check_workers(workers, cluster)
    check_scenes(scenes)
    check_outputs(out=out)
    cases = cases_of([name.strip() for name in only.split(",") if name.strip()], sample, steps)
    bar = Terminal(quiet=quiet or as_json).bar("runs", len(cases))
    files = files_below(scenes) if cluster else ()
    with (
        note_stop(resume_note(out)),
        processes(workers, cluster, files) as executor,
        bar as advance,
    ):
        found = measure_robust(out, scenes, cases, advance, executor=executor)
    if as_json:
        print_json([one.to_dict() for one in found])
    elif not quiet:
        robust_tables.show_robust(found)


app = command_app(
    success_rates,
    "python -m benchmarks.success_rates --out robust.csv --workers 4",
    "python -m benchmarks.success_rates --only ring,ball --sample 10",
    "python -m benchmarks.success_rates --out robust.csv --cluster tcp://host:8786",
)

if __name__ == "__main__":
    run_app(app)
