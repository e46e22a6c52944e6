"""The command `python -m benchmarks.intervals`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.command import command_app, resume_note
from benchmarks.intervals.cases import Case
from benchmarks.intervals.given import problem_case
from benchmarks.intervals.measure import REPETITIONS, SHORT, measure_coverage
from benchmarks.intervals.table import show_coverage
from sofa_softctl.base.executors.workers import check_workers
from sofa_softctl.base.executors.workers import workers as processes
from sofa_softctl.cli.app import run_app
from sofa_softctl.cli.files import check_outputs
from sofa_softctl.cli.options import (
    Cluster,
    Json,
    Quiet,
    Workers,
    named_numbers,
    note_stop,
    print_json,
)
from sofa_softctl.errors import UsageError
from sofa_softctl.view.terminal.run import Terminal


def intervals(
    case: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="outputs, inputs too, loud inputs, arm, loop of 6, loop of 12, finger; with data "
            "from finer models: step of 10 ms, step of 40 ms, links, split mesh. May be repeated. "
            "The first two by default.",
        ),
    ] = None,
    problem: Annotated[
        str,
        typer.Option(metavar="FILE.py:NAME", help="A problem that simulates its own data..."),
    ] = "",
    data: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="... along this motion; may be repeated..."),
    ] = None,
    true: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="... with this parameter, by default its start..."),
    ] = None,
    generator: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="... by a finer model: dt (a quarter of the step), mesh, links."
        ),
    ] = "",
    repetitions: Annotated[
        int, typer.Option(help="Number of estimates of each case.", min=2)
    ] = REPETITIONS,
    out: Annotated[
        Path,
        typer.Option(metavar="FILE.csv", help="A row for each estimate; goes on if it exists."),
    ] = Path("intervals.csv"),
    workers: Workers = 0,
    cluster: Cluster = "",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Identification: how often 95 % intervals hold the truth, over repeated estimates."""
    if problem and (case or not data):
        raise UsageError("--problem needs --data FILE, a motion, and has no --case.")
    if not problem and (data or true or generator):
        raise UsageError("--data, --true and --generator are of --problem FILE.py:NAME.")
    check_workers(workers, cluster)
    check_outputs(out=out)
    given = _given_case(problem, data or [], true, generator) if problem else {}
    cases = tuple(case or given or SHORT)
    bar = Terminal(quiet=quiet or as_json).bar("estimates", len(cases) * repetitions)
    with note_stop(resume_note(out)), processes(workers, cluster) as executor, bar as advance:
        coverages = measure_coverage(
            out, advance, cases=cases, given=given, repetitions=repetitions, executor=executor
        )
    if as_json:
        print_json([coverage.to_dict() for coverage in coverages])
    elif not quiet:
        show_coverage(coverages)


def _given_case(
    problem: str, data: Sequence[Path], true: Sequence[str] | None, generator: str
) -> dict[str, Case]:
    """Return the case of a user's problem by its name."""
    truth = named_numbers("--true", true)
    files = [str(path) for path in data]
    return {problem: problem_case(problem, files, truth, generator=generator)}


app = command_app(
    intervals,
    "python -m benchmarks.intervals --workers 4",
    'python -m benchmarks.intervals --out loop.csv --case "loop of 6" --repetitions 40',
    "python -m benchmarks.intervals --out mine.csv --problem my_robot.py --data bend.csv "
    "--true lag=0.3",
)

if __name__ == "__main__":
    run_app(app)
