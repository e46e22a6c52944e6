"""The command `python -m benchmarks.contact_search`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.command import command_app, resume_note
from sofa_softctl.cli.app import run_app
from sofa_softctl.cli.files import check_outputs
from sofa_softctl.cli.options import Cluster, Json, Quiet, Workers, note_stop, print_json


def contact_search(
    problems: Annotated[int, typer.Option(help="How many problems.", min=1)] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the problems.", min=0)] = 0,
    most_contacts: Annotated[int, typer.Option(help="Most contacts of a problem.", min=1)] = 6,
    strategies: Annotated[bool, typer.Option(help="Also compare the strategies.")] = False,
    out: Annotated[
        Path, typer.Option(metavar="FILE.csv", help="A row for each answer; goes on if it exists.")
    ] = Path("random.csv"),
    workers: Workers = 0,
    cluster: Cluster = "",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Inverse control: its search among contact modes beside the best answers, random problems."""
    from benchmarks.contact_search.study import measure_search, summary
    from benchmarks.contact_search.table import show_search
    from sofa_softctl.base.executors.workers import check_workers
    from sofa_softctl.base.executors.workers import workers as processes
    from sofa_softctl.view.terminal.run import Terminal

    check_workers(workers, cluster)
    check_outputs(out=out)
    compared = ("auto", "pivoting", "exact") if strategies else ("auto",)
    bar = Terminal(quiet=quiet or as_json).bar("answers", problems * len(compared))
    with note_stop(resume_note(out)), processes(workers, cluster) as executor, bar as advance:
        rows = measure_search(
            out,
            advance,
            problems=problems,
            seed=seed,
            contacts=most_contacts,
            strategies=compared,
            executor=executor,
        )
    found = summary(rows)
    if as_json:
        size = {"problems": problems, "seed": seed, "contacts": most_contacts}
        print_json({**size, "strategies": found})
    elif not quiet:
        show_search(found, seed, most_contacts)


app = command_app(
    contact_search,
    "python -m benchmarks.contact_search",
    "python -m benchmarks.contact_search --problems 300 --most-contacts 12 --out twelve.csv",
)

if __name__ == "__main__":
    run_app(app)
