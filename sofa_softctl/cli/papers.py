"""The commands of `softctl papers`: the papers' tables and studies, measured here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from sofa_softctl.cli.files import check_outputs
from sofa_softctl.cli.options import (
    Cluster,
    Json,
    Quiet,
    Steps,
    Workers,
    exit_if_stopped,
    print_json,
    stopping,
)
from sofa_softctl.cli.root import app
from sofa_softctl.errors import SoftctlError, UsageError

papers = typer.Typer(help="The papers' tables and studies, measured here.", no_args_is_help=True)
app.add_typer(papers, name="papers")

Scenes = Annotated[Path, typer.Option(help="Folder of the scenes.")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE.png", help="A picture.")]
SCENES = Path("scenes")


@papers.command(
    epilog="Examples:\n\n  softctl papers inverse\n\n"
    "  softctl papers inverse --contacts coulomb --strategies\n\n"
    "  softctl papers inverse --transfer"
)
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
    from sofa_softctl.bench.papers.inverse import TABLE_2, compare_strategies, measure_row
    from sofa_softctl.view.terminal import papers as paper_tables
    from sofa_softctl.view.terminal import run as terminal

    show = terminal.Terminal(quiet=quiet or as_json)
    _check_scenes(scenes)
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
        paper_tables.show_papers(rows, gaps)
    exit_if_stopped(len(rows), len(wanted), "runs")


@papers.command(
    epilog="Examples:\n\n  softctl papers planning --plot projection.png\n\n"
    "  softctl papers planning --radius 20 --radius 40 --radius 80 --radius 120\n\n"
    "  softctl papers planning --radius 20 --radius 80 --cases 5\n\n"
    "  softctl papers planning --radius 20 --fine"
)
def planning(
    scenes: Scenes = SCENES,
    plot: Plot = None,
    radius: Annotated[
        list[float] | None,
        typer.Option(help="Only its Table I, for circles of this radius in mm; repeatable."),
    ] = None,
    cases: Annotated[
        int, typer.Option(help="Perturbed cases of each circle, for a spread.", min=1, max=5)
    ] = 1,
    fine: Annotated[
        bool, typer.Option("--fine", help="With the mesh of 5,082 nodes; an hour and more.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Planning: its Table I, its Lemma IV.1, and what the projection costs. Some minutes."""
    from sofa_softctl.bench.papers.convergence import measure_convergence
    from sofa_softctl.bench.papers.planning import PaperRow, measure_planning
    from sofa_softctl.bench.papers.planning_cases import CASES, FINE_CASE
    from sofa_softctl.bench.papers.projection import measure_projection
    from sofa_softctl.view.plots import projection
    from sofa_softctl.view.terminal import papers as paper_tables
    from sofa_softctl.view.terminal import run as terminal

    _check_scenes(scenes)
    check_outputs(plot=plot)
    show = terminal.Terminal(quiet=quiet or as_json)
    if radius or fine or cases > 1:
        chosen = [FINE_CASE] if fine else CASES[:cases]
        with show.status("planning with and without a grid") as progress:
            rows = [
                measure_planning(scenes, progress, radius=each, case=case)
                for each in radius or [20.0]
                for case in chosen
            ]
        if as_json:
            print_json([row.to_dict() for row in rows])
        elif not quiet:
            paper_tables.show_planning(rows, PaperRow())
        return
    with show.status("planning with and without the grid") as progress:
        row = measure_planning(scenes, progress)
        levels = measure_convergence(scenes, progress)
        costs = measure_projection(scenes, progress)
    if plot is not None:
        projection.save_projection_plot(plot, costs)
    if as_json:
        found = {
            "table": row.to_dict(),
            "convergence": [level.to_dict() for level in levels],
            "projection": costs.to_dict(),
        }
        print_json(found)
    elif not quiet:
        paper_tables.show_planning([row], PaperRow())
        paper_tables.show_convergence(levels)
        paper_tables.show_projection(costs)


@papers.command(
    epilog="Examples:\n\n  softctl papers dimensions\n\n"
    "  softctl papers dimensions --lines 6 --cases 1\n\n"
    "  softctl papers dimensions --grid sparse --json"
)
def dimensions(
    scenes: Scenes = SCENES,
    lines: Annotated[
        str, typer.Option(metavar="D,...", help="Numbers of lines, of 4, 6 and 8.")
    ] = "4,6,8",
    cases: Annotated[int, typer.Option(help="Perturbed cases of each.", min=1, max=5)] = 5,
    grid: Annotated[str, typer.Option(help="cells, sparse, or both.")] = "both",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Planning: equilibria for four, six and eight lines, on cells and on sparse polynomials.

    Cells of eight lines take 5,800 equilibria a case, some minutes and 0.7 GB.
    """
    from sofa_softctl.bench.papers.dimensions import SIZES, measure_dimensions
    from sofa_softctl.bench.papers.planning_cases import CASES
    from sofa_softctl.view.terminal import papers as paper_tables
    from sofa_softctl.view.terminal import run as terminal

    _check_scenes(scenes)
    wanted = [int(each) if each.strip().isdigit() else 0 for each in lines.split(",")]
    if any(each not in SIZES for each in wanted):
        raise UsageError(f"--lines must be some of 4, 6 and 8, such as 6,8; got '{lines}'.")
    if grid not in ("cells", "sparse", "both"):
        raise UsageError(f"--grid must be cells, sparse or both; got '{grid}'.")
    show = terminal.Terminal(quiet=quiet or as_json)
    with show.status("planning on cells and on sparse polynomials") as progress:
        rows = measure_dimensions(
            scenes,
            progress,
            lines=wanted,
            cases=CASES[:cases],
            grids=("cells", "sparse") if grid == "both" else (grid,),
        )
    if as_json:
        print_json([row.to_dict() for row in rows])
    elif not quiet:
        paper_tables.show_dimensions(rows)


@papers.command(
    epilog="Examples:\n\n  softctl papers trajectories --plot springs.png\n\n"
    "  softctl papers trajectories --seeds 5"
)
def trajectories(
    seeds: Annotated[int, typer.Option(help="Seeds of positions and masses.", min=1)] = 1,
    plot: Plot = None,
    cluster: Cluster = "",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Libraries of trajectories: mean costs of three actuations, what springs save.

    Two processes solve at the same time, or the workers of a cluster. With a C compiler, programs
    are compiled first: a seed takes minutes instead of a quarter of an hour.
    """
    from sofa_softctl._internal.executors.workers import workers as processes
    from sofa_softctl.bench.papers.library import measure_energies
    from sofa_softctl.library.ocp.compiled import can_compile
    from sofa_softctl.view.plots.springs import save_energy_plot
    from sofa_softctl.view.terminal.library_study import show_energy
    from sofa_softctl.view.terminal.run import Terminal

    check_outputs(plot=plot)
    show = Terminal(quiet=quiet or as_json)
    with (
        stopping("Nothing was written."),
        processes(0 if cluster else 2, cluster) as executor,
        show.status("planning 200 motions for each") as progress,
    ):
        found = measure_energies(progress, seeds=seeds, executor=executor, compiled=can_compile())
    _show_study(found, plot, save_energy_plot, show_energy, quiet=quiet, as_json=as_json)


@papers.command(
    epilog="Examples:\n\n  softctl papers library --workers 2 --plot libraries.png\n\n"
    "  softctl papers library --seeds 1 --tasks 200\n\n"
    "  softctl papers library --steps 0 --workers 2\n\n"
    "  softctl papers library --seeds 10 --json --quiet > libraries.json"
)
def library(
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
    from sofa_softctl._internal.executors.workers import check_workers
    from sofa_softctl._internal.executors.workers import workers as processes
    from sofa_softctl.bench.papers.library_table import measure_library
    from sofa_softctl.view.plots.library_table import save_library_table_plot
    from sofa_softctl.view.terminal.library_table import show_library_table
    from sofa_softctl.view.terminal.run import Terminal

    check_workers(workers, cluster)
    check_outputs(plot=plot)
    show = Terminal(quiet=quiet or as_json)
    with (
        stopping("Nothing was written."),
        processes(workers, cluster) as executor,
        show.status("building libraries") as progress,
    ):
        found = measure_library(
            progress, seeds=seeds, tasks=tasks, building={"steps": steps}, executor=executor
        )
    _show_study(
        found, plot, save_library_table_plot, show_library_table, quiet=quiet, as_json=as_json
    )


@papers.command(
    epilog="Examples:\n\n  softctl papers identification --plot loop.png\n\n"
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
    seeds: Annotated[int, typer.Option(help="Seeds of --causes.", min=1)] = 1,
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
    if not problem and (data or true or generator):
        raise UsageError("--data, --true and --generator are of --problem FILE.py:NAME.")
    if not repeated and (workers or cluster):
        option = "--cluster repeats" if cluster else "--workers repeat"
        raise UsageError(f"{option} estimates: give --coverage FILE.csv, too.")
    if causes is None and seeds > 1:
        raise UsageError("--seeds is of the study of causes: give --causes FILE.csv, too.")
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
        found = measure_identification(progress)
    _show_study(found, plot, save_study_plot, show_study, quiet=quiet, as_json=as_json)


@papers.command(
    epilog="Examples:\n\n  softctl papers robust --out robust.csv --workers 4\n\n"
    "  softctl papers robust --only ring,ball --sample 10\n\n"
    "  softctl papers robust --out robust.csv --cluster tcp://host:8786"
)
def robust(
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
    from sofa_softctl._internal.executors.workers import check_workers
    from sofa_softctl._internal.executors.workers import workers as processes
    from sofa_softctl._internal.files_read import files_below
    from sofa_softctl.bench.robust.cases import cases_of
    from sofa_softctl.bench.robust.study import measure_robust
    from sofa_softctl.view.terminal import robust as robust_tables
    from sofa_softctl.view.terminal.run import Terminal

    check_workers(workers, cluster)
    _check_scenes(scenes)
    check_outputs(out=out)
    cases = cases_of([name.strip() for name in only.split(",") if name.strip()], sample, steps)
    bar = Terminal(quiet=quiet or as_json).bar("runs", len(cases))
    files = files_below(scenes) if cluster else ()
    with stopping(_kept(out)), processes(workers, cluster, files) as executor, bar as advance:
        found = measure_robust(out, scenes, cases, advance, executor=executor)
    if as_json:
        print_json([one.to_dict() for one in found])
    elif not quiet:
        robust_tables.show_robust(found)


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
    with stopping(_kept(out)), processes(workers, cluster) as executor, bar as advance:
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


def _modes(contacts: str) -> tuple[str, ...]:
    from sofa_softctl.bench.papers.inverse import MODES

    if contacts not in (*MODES, "both"):
        raise UsageError(f"--contacts must be one of {', '.join(MODES)} or both; got '{contacts}'.")
    return tuple(MODES) if contacts == "both" else (contacts,)


def _check_scenes(folder: Path) -> None:
    if not folder.is_dir():
        raise SoftctlError(
            f"There is no folder '{folder}' of scenes: run this where the repository is, or say "
            "where its scenes are, --scenes FOLDER."
        )


def _show_study(
    found: Any,
    plot: Path | None,
    save: Callable[[Path, Any], None],
    print_tables: Callable[[Any], None],
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Show a study as picture, JSON or tables."""
    if plot is not None:
        save(plot, found)
    if as_json:
        print_json(found.to_dict())
    elif not quiet:
        print_tables(found)


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
    with stopping(_kept(path)), processes(workers, cluster) as executor, bar as advance:
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
    with stopping(_kept(path)), processes(workers, cluster) as executor, bar as advance:
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


def _measure_transfer(
    show: Any, scenes: Path, steps: int | None, *, quiet: bool, as_json: bool
) -> None:
    """Table I of the paper on contacts: the cup's commands on another plant."""
    from sofa_softctl.bench.papers.transfer import PaperTransfer, measure_transfer
    from sofa_softctl.view.terminal import papers as paper_tables

    with show.status("the cup") as progress:
        found = measure_transfer(scenes, progress, steps)
    if as_json:
        print_json([one.to_dict() for one in found])
    elif not quiet:
        paper_tables.show_transfer(found, PaperTransfer())


def _kept(path: Path) -> str:
    """Message for a study that was stopped."""
    return f"'{path}' has what was measured: the same command goes on with it."
