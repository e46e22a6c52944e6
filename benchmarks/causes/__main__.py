"""The command `python -m benchmarks.causes`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.causes.cases import PLANTS
from benchmarks.causes.measure import measure_causes, runs
from benchmarks.command import command_app, resume_note
from sofa_softctl.base.executors.workers import check_workers
from sofa_softctl.base.executors.workers import workers as processes
from sofa_softctl.cli.app import run_app
from sofa_softctl.cli.files import check_outputs
from sofa_softctl.cli.options import Cluster, Json, Quiet, Workers, note_stop, print_json
from sofa_softctl.view.terminal.run import Terminal


def causes(
    case: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Robot: rods or arm; repeatable. Both by default."),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Number of studies of each robot.", min=1)] = 1,
    out: Annotated[
        Path,
        typer.Option(metavar="FILE.csv", help="A row for each report; goes on if it exists."),
    ] = Path("causes.csv"),
    workers: Workers = 0,
    cluster: Cluster = "",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Identification: how often reports name what models leave out."""
    check_workers(workers, cluster)
    check_outputs(out=out)
    plants = tuple(case or PLANTS)
    count = sum(len(runs(name, 0)) for name in plants if name in PLANTS)
    bar = Terminal(quiet=quiet or as_json).bar("reports", count * seeds)
    with note_stop(resume_note(out)), processes(workers, cluster) as executor, bar as advance:
        study = measure_causes(out, advance, plants=plants, seeds=range(seeds), executor=executor)
    if as_json:
        print_json(study.to_dict())
    elif not quiet:
        show_causes(study)


def show_causes(study: Any) -> None:
    """Print a `Study` of causes."""
    data = study.to_dict()
    table = Table(title="What models leave out, and what reports name", title_justify="left")
    table.add_column("wrong models")
    heads = list(data["wrong"])
    for column in heads:
        table.add_column(column, justify="right")
    groups = ("wrong", "wrong, detectable", "wrong, not detectable")
    for name in groups:
        end = name == groups[-1]
        table.add_row(name, *(str(data[name][one]) for one in heads), end_section=end)
    for name, counts in data["causes"].items():
        table.add_row(name, *(str(counts[one]) for one in heads))
    console = Console()
    console.print(table)
    right = data["right"]
    console.print(
        f"Of {right['runs']} models that are right, {right['not to be trusted']} are called not to "
        f"be trusted. An estimate takes {data['seconds']:.2g} s, causes "
        f"{data['report_seconds']:.2g} s more."
    )


app = command_app(
    causes,
    "python -m benchmarks.causes --seeds 2",
    "python -m benchmarks.causes --case rods --out rods.csv --workers 4",
)

if __name__ == "__main__":
    run_app(app)
