"""The command `softctl papers identification`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sofa_softctl.cli.files import check_outputs
from sofa_softctl.cli.options import Cluster, Json, Quiet, Workers, print_json, stopping
from sofa_softctl.cli.papers.group import Plot, kept, papers, show_result
from sofa_softctl.errors import UsageError


@papers.command(
    epilog="Examples:\n\n  softctl papers identification --plot loop.png\n\n"
    "  softctl papers identification --seeds 5\n\n"
    "  softctl papers identification --coverage intervals.csv --workers 4\n\n"
    '  softctl papers identification --coverage loop.csv --case "loop of 6" --repetitions 40\n\n'
    "  softctl papers identification --coverage mine.csv --problem my_robot.py --data bend.csv "
    "--true lag=0.3\n\n"
    "  softctl papers identification --causes causes.csv --seeds 2"
)
def identification(
    coverage: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Repeat an estimate instead: do intervals hold the truth? Goes on with the file.",
        ),
    ] = None,
    causes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Wrong and right models instead: are causes named? Goes on with the file.",
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(help="Recordings, each with its own noise; of --causes: studies.", min=1)
    ] = 1,
    case: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Of --coverage: outputs, inputs too, loud inputs, arm, loop of 6, loop of 12, "
            "finger; with data from finer models: step of 10 ms, step of 40 ms, links, split mesh. "
            "Of --causes: rods, arm. May be repeated. The first two when left out.",
        ),
    ] = None,
    problem: Annotated[
        str,
        typer.Option(
            metavar="FILE.py:NAME", help="Of --coverage: a problem, which simulates its own data..."
        ),
    ] = "",
    data: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="... along this motion; may be repeated..."),
    ] = None,
    true: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="... with this parameter; otherwise its start..."),
    ] = None,
    generator: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="... by a finer model: dt (a quarter of the step), mesh, links."
        ),
    ] = "",
    repetitions: Annotated[
        int, typer.Option(help="Estimates of each case of --coverage.", min=2)
    ] = 200,
    workers: Workers = 0,
    cluster: Cluster = "",
    plot: Plot = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Identification: a loop's stiffness from an arm's touch."""
    from sofa_softctl._internal.executors.workers import check_workers
    from sofa_softctl.bench.papers.identification import measure_identification
    from sofa_softctl.view.plots.identification_study import save_study_plot, show_study
    from sofa_softctl.view.terminal.run import Terminal

    _check_options(
        coverage=coverage,
        causes=causes,
        seeds=seeds,
        case=case,
        problem=problem,
        of_problem=bool(data or true or generator),
        data=bool(data),
        plot=plot,
        workers=workers,
        cluster=cluster,
    )
    check_workers(workers, cluster)
    check_outputs(plot=plot, coverage=coverage, causes=causes)
    show = Terminal(quiet=quiet or as_json)
    if causes is not None:
        _measure_causes(
            show,
            causes,
            workers,
            cluster,
            plants=case,
            seeds=seeds,
            quiet=quiet,
            as_json=as_json,
        )
        return
    if coverage is not None:
        _measure_coverage(
            show,
            coverage,
            workers,
            cluster,
            cases=case,
            repetitions=repetitions,
            given=_given_case(problem, data, true, generator),
            quiet=quiet,
            as_json=as_json,
        )
        return
    with show.status("recording the motion") as progress:
        found = measure_identification(progress, seeds=seeds)
    show_result(found, plot, save_study_plot, show_study, quiet=quiet, as_json=as_json)


def _check_options(
    *,
    coverage: Path | None,
    causes: Path | None,
    seeds: int,
    case: Sequence[str] | None,
    problem: str,
    of_problem: bool,
    data: bool,
    plot: Path | None,
    workers: int,
    cluster: str,
) -> None:
    """Refuse options of different studies.

    Raises:
        UsageError: They do not go together.
    """
    if coverage is not None and causes is not None:
        raise UsageError("--coverage and --causes are two studies: give one of them.")
    repeated = coverage is not None or causes is not None
    if repeated and plot is not None:
        option = "--causes" if coverage is None else "--coverage"
        raise UsageError(f"{option} has no picture: leave out --plot.")
    if not repeated and case or coverage is None and problem:
        option = "--case is" if case else "--problem is"
        raise UsageError(f"{option} of repeated estimates: give --coverage FILE.csv, too.")
    if problem and (case or not data):
        raise UsageError("--problem needs --data FILE, a motion, and has no --case.")
    if not problem and of_problem:
        raise UsageError("--data, --true and --generator are of --problem FILE.py:NAME.")
    if not repeated and (workers or cluster):
        option = "--cluster repeats" if cluster else "--workers repeat"
        raise UsageError(f"{option} estimates: give --coverage FILE.csv, too.")
    if coverage is not None and seeds > 1:
        raise UsageError("--coverage has a seed for each of its --repetitions: leave out --seeds.")


def _measure_causes(
    show: Any,
    path: Path,
    workers: int,
    cluster: str,
    *,
    plants: Sequence[str] | None,
    seeds: int,
    quiet: bool,
    as_json: bool,
) -> None:
    """How often reports name what models leave out."""
    from sofa_softctl._internal.executors.workers import workers as processes
    from sofa_softctl.bench.papers.cause_cases import PLANTS
    from sofa_softctl.bench.papers.causes import measure_causes, runs
    from sofa_softctl.view.plots import identification_study

    wanted = tuple(plants or PLANTS)
    count = sum(len(runs(name, 0)) for name in wanted if name in PLANTS)
    bar = show.bar("reports", count * seeds)
    with stopping(kept(path)), processes(workers, cluster) as executor, bar as advance:
        found = measure_causes(path, advance, plants=wanted, seeds=range(seeds), executor=executor)
    if as_json:
        print_json(found.to_dict())
    elif not quiet:
        identification_study.show_causes(found)


def _measure_coverage(
    show: Any,
    path: Path,
    workers: int,
    cluster: str,
    *,
    cases: Sequence[str] | None,
    repetitions: int,
    given: dict[str, Any],
    quiet: bool,
    as_json: bool,
) -> None:
    """Coverage of 95 % intervals."""
    from sofa_softctl._internal.executors.workers import workers as processes
    from sofa_softctl.bench.papers.coverage import SHORT, measure_coverage
    from sofa_softctl.view.plots import identification_study

    wanted = tuple(cases or given or SHORT)
    bar = show.bar("estimates", len(wanted) * repetitions)
    with stopping(kept(path)), processes(workers, cluster) as executor, bar as advance:
        found = measure_coverage(
            path,
            advance,
            cases=wanted,
            given=given,
            repetitions=repetitions,
            executor=executor,
        )
    if as_json:
        print_json([each.to_dict() for each in found])
    elif not quiet:
        identification_study.show_coverage(found)


def _given_case(
    problem: str, data: Sequence[Path] | None, true: Sequence[str] | None, generator: str
) -> dict[str, Any]:
    """The case of a user's problem; none without."""
    from sofa_softctl.bench.papers.coverage_problem import problem_case
    from sofa_softctl.cli.options import named_numbers

    if not problem:
        return {}
    truth = named_numbers("--true", true)
    files = [str(path) for path in data or []]
    return {problem: problem_case(problem, files, truth, generator=generator)}
