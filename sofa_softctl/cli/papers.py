"""The command `softctl papers`: the papers' tables, measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from sofa_softctl.cli.options import Json, Quiet, Steps, Workers, stopping
from sofa_softctl.errors import SoftctlError

EXAMPLES = (
    "Examples:\n\n  softctl papers\n\n  softctl papers --contacts coulomb --strategies\n\n"
    "  softctl papers --transfer\n\n"
    "  softctl papers --planning --plot projection.png\n\n"
    "  softctl papers --trajectories --plot springs.png\n\n"
    "  softctl papers --identification --plot loop.png\n\n"
    "  softctl papers --coverage intervals.csv\n\n"
    "  softctl papers --robust --only ring,ball --out robust.csv --workers 4\n\n"
    "  softctl papers --random --problems 300 --most-contacts 12 --out twelve.csv"
)
"""Of `papers`."""


def papers(
    scenes: Annotated[
        Path, typer.Option(help="Folder of the scenes, for Table II and --planning.")
    ] = Path("scenes"),
    steps: Steps = None,
    contacts: Annotated[
        str,
        typer.Option(help="How contacts are taken: coulomb, sticking as in the paper, or both."),
    ] = "both",
    strategies: Annotated[
        bool,
        typer.Option(help="Also compare the strategies on problems of these scenes, or --random."),
    ] = False,
    planning: Annotated[
        bool,
        typer.Option("--planning", help="Measure the paper on planning instead, some minutes."),
    ] = False,
    trajectories: Annotated[
        bool,
        typer.Option("--trajectories", help="Measure the paper on libraries: what springs save."),
    ] = False,
    identification: Annotated[
        bool,
        typer.Option("--identification", help="Measure the paper on identification: a loop."),
    ] = False,
    coverage: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv", help="Repeat an estimate: do intervals hold the truth? Goes on."
        ),
    ] = None,
    transfer: Annotated[
        bool,
        typer.Option("--transfer", help="Measure the cup's commands on another plant instead."),
    ] = False,
    robust: Annotated[
        bool, typer.Option("--robust", help="Measure success rates of the robots instead. Goes on.")
    ] = False,
    only: Annotated[
        str, typer.Option(metavar="ROBOT,...", help="With --robust: of these robots only.")
    ] = "",
    random: Annotated[
        bool,
        typer.Option(
            "--random", help="Measure the search among contact modes on random problems. Goes on."
        ),
    ] = False,
    problems: Annotated[int, typer.Option(help="With --random: how many problems.", min=1)] = 1000,
    seed: Annotated[int, typer.Option(help="With --random: seed of the problems.", min=0)] = 0,
    most_contacts: Annotated[
        int, typer.Option(help="With --random: most contacts of a problem.", min=1)
    ] = 6,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="With --robust or --random: a row for each run or answer. Default: robust.csv, "
            "random.csv.",
        ),
    ] = None,
    sample: Annotated[
        int | None, typer.Option(help="With --robust: so many runs of each robot.", min=1)
    ] = None,
    workers: Workers = 0,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="With one of the studies: a picture."),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure the robots of the paper on inverse control through contacts: its Table II."""
    from sofa_softctl.bench.papers.inverse import TABLE_2, compare_strategies, measure_row
    from sofa_softctl.view.terminal import papers as paper_tables
    from sofa_softctl.view.terminal import run as terminal

    show = terminal.Terminal(quiet=quiet or as_json)
    if planning:
        _check_scenes(scenes)
        _measure_planning(show, scenes, plot, quiet=quiet, as_json=as_json)
        return
    if trajectories:
        _measure_trajectories(show, plot, quiet=quiet, as_json=as_json)
        return
    if identification:
        _measure_identification(show, plot, quiet=quiet, as_json=as_json)
        return
    if coverage is not None:
        _measure_coverage(show, coverage, quiet=quiet, as_json=as_json)
        return
    if random:
        asked = _Random(
            out or Path("random.csv"), problems, seed, most_contacts, strategies, workers
        )
        _measure_random(show, asked, quiet=quiet, as_json=as_json)
        return
    _check_scenes(scenes)
    if transfer:
        _measure_transfer(show, scenes, steps, quiet=quiet, as_json=as_json)
        return
    if robust:
        from sofa_softctl.bench.robust.cases import cases_of

        names = [name.strip() for name in only.split(",") if name.strip()]
        cases = cases_of(names, sample, steps)
        path = out or Path("robust.csv")
        _measure_robust(show, path, scenes, cases, workers, quiet=quiet, as_json=as_json)
        return
    rows = []
    for row in TABLE_2:
        for mode in _modes(contacts):
            with show.bar(f"{row.name}, {mode}", steps or 1) as advance:
                rows.append(measure_row(scenes, row, steps, advance, mode=mode))
    gaps = {}
    if strategies:
        gaps = compare_strategies([problem for row in rows for problem in row.problems])
    if as_json:
        found = {"table": [row.to_dict() for row in rows], "strategies": gaps}
        typer.echo(json.dumps(found, indent=2))
    elif not quiet:
        paper_tables.show_papers(rows, gaps)


def _modes(contacts: str) -> tuple[str, ...]:
    from sofa_softctl.bench.papers.inverse import MODES

    if contacts not in (*MODES, "both"):
        raise SoftctlError(
            f"--contacts must be one of {', '.join(MODES)} or both; got '{contacts}'."
        )
    return tuple(MODES) if contacts == "both" else (contacts,)


def _check_scenes(folder: Path) -> None:
    if not folder.is_dir():
        raise SoftctlError(
            f"There is no folder '{folder}' of scenes: run this where the repository is, or say "
            "where its scenes are, --scenes FOLDER."
        )


def _measure_planning(
    show: Any, scenes: Path, plot: Path | None, *, quiet: bool, as_json: bool
) -> None:
    """Table I of the paper on planning, its Lemma IV.1, and what the projection costs."""
    from sofa_softctl.bench.papers.convergence import measure_convergence
    from sofa_softctl.bench.papers.planning import PaperRow, measure_planning
    from sofa_softctl.bench.papers.projection import measure_projection
    from sofa_softctl.view.plots import projection
    from sofa_softctl.view.terminal import papers as paper_tables

    _check_plot(plot)
    with show.status("planning with and without the grid") as tell:
        row = measure_planning(scenes, tell)
        levels = measure_convergence(scenes, tell)
        costs = measure_projection(scenes, tell)
    if plot is not None:
        projection.save_projection_plot(plot, costs)
    if as_json:
        told = {
            "table": row.to_dict(),
            "convergence": [level.to_dict() for level in levels],
            "projection": costs.to_dict(),
        }
        typer.echo(json.dumps(told, indent=2))
    elif not quiet:
        paper_tables.show_planning(row, PaperRow())
        paper_tables.show_convergence(levels)
        paper_tables.show_projection(costs)


def _measure_trajectories(show: Any, plot: Path | None, *, quiet: bool, as_json: bool) -> None:
    """Section 2 of the paper on trajectory libraries: mean costs of three actuations."""
    from sofa_softctl.bench.papers.library import measure_energy
    from sofa_softctl.view.plots.springs import save_energy_plot
    from sofa_softctl.view.terminal.library_study import show_energy

    _check_plot(plot)
    with show.status("planning 200 motions for each actuation") as tell:
        found = measure_energy(tell)
    _tell(found, plot, save_energy_plot, show_energy, quiet=quiet, as_json=as_json)


def _measure_identification(show: Any, plot: Path | None, *, quiet: bool, as_json: bool) -> None:
    """Section IV of the paper on identification: a loop's stiffness from an arm's touch."""
    from sofa_softctl.bench.papers.identification import measure_identification
    from sofa_softctl.view.plots.identification_study import save_study_plot, show_study

    _check_plot(plot)
    with show.status("recording the motion") as tell:
        found = measure_identification(tell)
    _tell(found, plot, save_study_plot, show_study, quiet=quiet, as_json=as_json)


def _check_plot(plot: Path | None) -> None:
    """Before the work: can a plot have that name?"""
    from sofa_softctl.view.plots.plan import check_suffix

    if plot is not None:
        check_suffix(plot)


def _tell(
    found: Any,
    plot: Path | None,
    save: Callable[[Path, Any], None],
    print_tables: Callable[[Any], None],
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """A study, as picture, JSON or tables."""
    if plot is not None:
        save(plot, found)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2))
    elif not quiet:
        print_tables(found)


def _measure_coverage(show: Any, path: Path, *, quiet: bool, as_json: bool) -> None:
    """How often 95 % intervals hold the truth."""
    from sofa_softctl.bench.papers.coverage import CASES, REPETITIONS, measure_coverage
    from sofa_softctl.view.plots import identification_study

    kept = f"'{path}' has what was measured: the same command goes on with it."
    with stopping(kept), show.bar("estimates", len(CASES) * REPETITIONS) as advance:
        found = measure_coverage(path, advance)
    if as_json:
        typer.echo(json.dumps([each.to_dict() for each in found], indent=2))
    elif not quiet:
        identification_study.show_coverage(found)


def _measure_robust(
    show: Any,
    path: Path,
    scenes: Path,
    cases: list[Any],
    count: int,
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """How many runs of each robot succeed."""
    from sofa_softctl._internal.processes import workers as processes
    from sofa_softctl.bench.robust.study import measure_robust
    from sofa_softctl.view.terminal import robust as robust_tables

    kept = f"'{path}' has the runs that ended: the same command goes on with it."
    with stopping(kept), processes(count) as executor, show.bar("runs", len(cases)) as advance:
        found = measure_robust(path, scenes, cases, advance, executor=executor)
    if as_json:
        typer.echo(json.dumps([one.to_dict() for one in found], indent=2))
    elif not quiet:
        robust_tables.show_robust(found)


def _measure_transfer(
    show: Any, scenes: Path, steps: int | None, *, quiet: bool, as_json: bool
) -> None:
    """Table I of the paper on contacts: the cup's commands on another plant."""
    from sofa_softctl.bench.papers.transfer import PaperTransfer, measure_transfer
    from sofa_softctl.view.terminal import papers as paper_tables

    with show.status("the cup") as tell:
        found = measure_transfer(scenes, tell, steps)
    if as_json:
        typer.echo(json.dumps([one.to_dict() for one in found], indent=2))
    elif not quiet:
        paper_tables.show_transfer(found, PaperTransfer())


class _Random(NamedTuple):
    """What --random measures."""

    out: Path
    problems: int
    seed: int
    contacts: int
    strategies: bool
    workers: int


def _measure_random(show: Any, asked: _Random, *, quiet: bool, as_json: bool) -> None:
    """How near to the best answers the search among contact modes comes."""
    from sofa_softctl.bench.contact_search.study import measure_search, summary
    from sofa_softctl.view.terminal.contact_search import show_search

    kept = f"'{asked.out}' has what was measured: the same command goes on with it."
    with stopping(kept), show.bar("problems", asked.problems) as advance:
        rows = measure_search(
            asked.out,
            advance,
            problems=asked.problems,
            seed=asked.seed,
            contacts=asked.contacts,
            strategies=("auto", "pivoting", "exact") if asked.strategies else ("auto",),
            workers=asked.workers,
        )
    found = summary(rows)
    if as_json:
        size = {"problems": asked.problems, "seed": asked.seed, "contacts": asked.contacts}
        typer.echo(json.dumps({**size, "strategies": found}, indent=2))
    elif not quiet:
        show_search(found, asked.seed, asked.contacts)
