"""The command `softctl papers search`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sofa_softctl.cli.files import check_outputs
from sofa_softctl.cli.options import Cluster, Json, Quiet, Workers, print_json, stopping
from sofa_softctl.cli.papers.group import kept, papers


@papers.command(
    epilog="Examples:\n\n  softctl papers search\n\n"
    "  softctl papers search --problems 300 --most-contacts 12 --out twelve.csv"
)
def search(
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
    from sofa_softctl._internal.executors.workers import check_workers
    from sofa_softctl._internal.executors.workers import workers as processes
    from sofa_softctl.bench.contact_search.study import measure_search, summary
    from sofa_softctl.view.terminal.contact_search import show_search
    from sofa_softctl.view.terminal.run import Terminal

    check_workers(workers, cluster)
    check_outputs(out=out)
    bar = Terminal(quiet=quiet or as_json).bar("problems", problems)
    with stopping(kept(out)), processes(workers, cluster) as executor, bar as advance:
        rows = measure_search(
            out,
            advance,
            problems=problems,
            seed=seed,
            contacts=most_contacts,
            strategies=("auto", "pivoting", "exact") if strategies else ("auto",),
            executor=executor,
        )
    found = summary(rows)
    if as_json:
        size = {"problems": problems, "seed": seed, "contacts": most_contacts}
        print_json({**size, "strategies": found})
    elif not quiet:
        show_search(found, seed, most_contacts)
