"""The command `python -m benchmarks.inverse`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.command import SCENES, Scenes, check_scenes, command_app
from sofa_softctl.cli.app import run_app
from sofa_softctl.cli.options import Json, Quiet, Steps, exit_if_stopped, print_json
from sofa_softctl.errors import UsageError


def inverse(
    scenes: Scenes = SCENES,
    steps: Steps = None,
    contacts: Annotated[
        str,
        typer.Option(help="How contacts are taken: coulomb, sticking as in the paper, or both."),
    ] = "both",
    strategies: Annotated[
        bool, typer.Option(help="Also compare the strategies on problems of these scenes.")
    ] = False,
    transfer: Annotated[
        bool,
        typer.Option("--transfer", help="Measure the cup's commands on another plant instead."),
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Inverse control through contacts: times and errors of the robots of its Table II."""
    from benchmarks.inverse import tables
    from benchmarks.inverse.measure import TABLE_2, compare_strategies, measure_row
    from sofa_softctl.view.terminal import run as terminal

    show = terminal.Terminal(quiet=quiet or as_json)
    check_scenes(scenes)
    if transfer:
        _measure_transfer(show, scenes, steps, quiet=quiet, as_json=as_json)
        return
    wanted = [(row, mode) for row in TABLE_2 for mode in _modes(contacts)]
    rows = []
    with suppress(KeyboardInterrupt):
        for row, mode in wanted:
            with show.bar(f"{row.name}, {mode}", steps or 1) as advance:
                rows.append(measure_row(scenes, row, steps, advance, mode=mode))
    gaps = {}
    if strategies and len(rows) == len(wanted):
        gaps = compare_strategies([problem for row in rows for problem in row.problems])
    if as_json:
        found = {"table": [row.to_dict() for row in rows], "strategies": gaps}
        print_json(found)
    elif not quiet:
        tables.show_table_2(rows, gaps)
    exit_if_stopped(len(rows), len(wanted), "runs")


def _measure_transfer(
    show: Any, scenes: Path, steps: int | None, *, quiet: bool, as_json: bool
) -> None:
    """Table I of the paper on contacts: the cup's commands on another plant."""
    from benchmarks.inverse import tables
    from benchmarks.inverse.transfer import PaperTransfer, measure_transfer

    with show.status("the cup") as progress:
        found = measure_transfer(scenes, progress, steps)
    if as_json:
        print_json([one.to_dict() for one in found])
    elif not quiet:
        tables.show_transfer(found, PaperTransfer())


def _modes(contacts: str) -> tuple[str, ...]:
    from benchmarks.inverse.measure import MODES

    if contacts not in (*MODES, "both"):
        raise UsageError(f"--contacts must be one of {', '.join(MODES)} or both; got '{contacts}'.")
    return tuple(MODES) if contacts == "both" else (contacts,)


app = command_app(
    inverse,
    "python -m benchmarks.inverse",
    "python -m benchmarks.inverse --contacts coulomb --strategies",
    "python -m benchmarks.inverse --transfer",
)

if __name__ == "__main__":
    run_app(app)
