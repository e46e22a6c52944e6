"""The commands of `softctl batch`: many runs of a scene."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sofa_softctl.base.processes import ended_by_signals, stopped_by
from sofa_softctl.cli.files import check_outputs, load_plugins
from sofa_softctl.cli.options import Cluster, Json, Quiet, note_stop, print_json
from sofa_softctl.cli.root import app
from sofa_softctl.errors import UsageError
from sofa_softctl.status import ExitStatus

batch = typer.Typer(help="Many runs of a scene, with a row for each run.", no_args_is_help=True)
app.add_typer(batch, name="batch")

Folder = Annotated[Path, typer.Argument(metavar="STUDY.study", help="Folder of a study.")]
MOVIES_MAX = 20
"""Maximum number of failures with movies per call."""


@batch.command(
    epilog="Examples:\n\n"
    "  softctl batch run finger.toml --estimate\n\n"
    "  softctl batch run finger.toml --workers 4\n\n"
    "  softctl batch run finger.toml --cluster tcp://host:8786"
)
def run(
    study: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="Study file.")],
    workers: Annotated[
        int | None, typer.Option(help="Simultaneous runs. Default: one per core.", min=1)
    ] = None,
    cluster: Cluster = "",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of the rows. Default: STUDY.study."),
    ] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Estimate time and disk space, then stop.")
    ] = False,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Continue although the scene has changed.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Repeat all runs and replace their rows.")
    ] = False,
    retry: Annotated[
        bool,
        typer.Option(
            "--retry", help="Repeat runs that raised, diverged, exceeded a limit or died."
        ),
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Execute all runs of a study, or the missing ones; each becomes a row.

    Failed runs are rows, too, with the reason. Ctrl-C, or a kill, loses no row: the same command
    continues.
    """
    from sofa_softctl.batch.bar import Bar
    from sofa_softctl.batch.execution.driver import run_study
    from sofa_softctl.batch.execution.estimate import estimate as cost_of
    from sofa_softctl.batch.execution.workers import local_workers, study_workers
    from sofa_softctl.batch.study.file import read_study
    from sofa_softctl.batch.table.folder import SUFFIX, StudyFolder
    from sofa_softctl.batch.table.results import read_results
    from sofa_softctl.batch.table.table import Table
    from sofa_softctl.view.terminal import batch as tables
    from sofa_softctl.view.words import plural

    design = read_study(study)
    load_plugins([Path(file) for file in design.plugins], design.scenario.backend)
    path = out or study.with_suffix(SUFFIX)
    silent = quiet or as_json
    with ExitStack() as stack:
        stack.enter_context(ended_by_signals())
        local_executor = stack.enter_context(local_workers(design, workers, cluster))
        if estimate:
            stack.enter_context(note_stop("Nothing was written."))
            executor, sources = stack.enter_context(study_workers(design, local_executor, cluster))
            statuses = Table(path / "rows").status_by_run()
            cost = cost_of(
                *(design, statuses, executor),
                check=sources is None,
                film=_filmer(local_executor) if design.movie == "failures" else None,
                movies_max=MOVIES_MAX,
            )
            count = executor.count
            print_json(asdict(cost)) if as_json else tables.show_estimate(cost, count)
            return
        folder = stack.enter_context(StudyFolder(path, design))
        if not (anyway or again):
            folder.refuse_changes("--again", "--anyway", "--out")
        try:
            executor, sources = stack.enter_context(study_workers(design, local_executor, cluster))
            with Bar(quiet=silent) as bar:
                progress = run_study(
                    folder, executor, again=again, retry=retry, sources=sources, report=bar.show
                )
            if design.movie == "failures":
                _save_movies(folder, local_executor, silent)
        except KeyboardInterrupt as error:
            by = stopped_by(error)
            typer.echo(
                f"Stopped by {by}. '{path}' has all rows so far: the same command continues.",
                err=True,
            )
            raise typer.Exit(ExitStatus.of_stop(by)) from None
    for text in progress.damaged:
        typer.echo(f"Warning: {text}", err=True)
    if progress.unfinished:
        typer.echo(
            f"{plural(progress.unfinished, 'run')} with a recording and no row, from a batch that "
            "was killed in between: done again.",
            err=True,
        )
    results = read_results(path)
    if as_json:
        print_json(_summary(results) | {"done_now": progress.done})
    elif not quiet:
        tables.show_results(results)
        typer.echo(f"Rows: {path}")


def _filmer(executor: Any) -> Callable[[Any, Path], str]:
    """Return a function that films a run in a process, and returns the reason for no movie."""
    from sofa_softctl.view.movie.study import film

    return lambda task, path: str(executor.submit(film, task, path).result()[1])


def _save_movies(folder: Any, executor: Any, quiet: bool) -> None:
    """Make missing movies of failures."""
    from sofa_softctl.batch.execution.run_one import Task, is_filmed
    from sofa_softctl.batch.table.results import read_results

    film = _filmer(executor)
    results = read_results(folder.path)
    failures = results.pick(np.flatnonzero(results.failed))
    run_ids = [row["run"] for row in failures if is_filmed(row)]
    runs = [run for run in folder.study.runs() if run.id in set(run_ids[:MOVIES_MAX])]
    for run in runs:
        path = folder.path / "movies" / f"{run.id}.gif"
        if path.exists():
            continue
        problem = film(Task(folder.study.scenario, run), path)
        if problem:
            typer.echo(f"No movie of run {run.index}: {problem}", err=True)
    if len(run_ids) > MOVIES_MAX and not quiet:
        typer.echo(
            f"Movies were made of the first {MOVIES_MAX} of {len(run_ids)} failures. "
            "softctl batch rerun --movie makes others."
        )


@batch.command(
    epilog="Examples:\n\n"
    "  softctl batch show finger.study --worst error\n\n"
    "  softctl batch show finger.study --run 17"
)
def show(
    study: Folder,
    worst: Annotated[
        str,
        typer.Option(metavar="COLUMN", help="List the runs with the greatest values of COLUMN."),
    ] = "",
    failures: Annotated[
        bool, typer.Option("--failures", help="List every run that failed, with the reason.")
    ] = False,
    run: Annotated[
        str, typer.Option(metavar="RUN", help="Show one run in full: its number or name.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Show the rows of a study, also while it runs."""
    from sofa_softctl.batch.table.results import read_results
    from sofa_softctl.view.terminal import batch as tables

    results = read_results(study)
    if worst:
        results.numbers(worst)  # the column must exist
    if run:
        row = results.row(run)
        print_json(row) if as_json else tables.show_row(row)
    elif as_json:
        shown = results.failed if failures else np.full(len(results.rows), True)
        print_json(_summary(results) | {"rows": results.pick(np.flatnonzero(shown))})
    elif failures:
        tables.show_failures(results)
    else:
        tables.show_results(results, worst=worst)


def _summary(results: Any) -> dict[str, Any]:
    return {
        "study": results.name,
        "folder": str(results.path),
        "runs": results.runs,
        "rows_done": len(results.rows),
        "counts": results.counts(),
        "reasons": [
            {"status": status, "reason": line, "runs": runs}
            for status, line, runs in results.reasons()
        ],
        "damaged": list(results.damaged),
    }


@batch.command(
    epilog="Examples:\n\n"
    "  softctl batch plot finger.study --to finger.png\n\n"
    "  softctl batch plot finger.study --to finger.png --measure error --kind scatter"
)
def plot(
    study: Folder,
    to: Annotated[Path, typer.Option(metavar="FILE.png", help="File of the plot.")],
    measure: Annotated[
        str, typer.Option(metavar="COLUMN", help="Measure to plot. Default: the first.")
    ] = "",
    kind: Annotated[
        str, typer.Option(help="map, or scatter: parameters and measures in pairs.")
    ] = "map",
) -> None:
    """Plot a measure over all parameters: marginals, and maps of each pair; or a scatter matrix."""
    from sofa_softctl.batch.table.results import read_results
    from sofa_softctl.view.plots.batch import KINDS, save_study_plot
    from sofa_softctl.view.terminal import batch as tables

    if kind not in KINDS:
        raise UsageError(f"--kind: expected {' or '.join(KINDS)}. Got: '{kind}'.")
    check_outputs(plot=to)
    results = read_results(study)
    save_study_plot(to, results, measure, kind)
    typer.echo(f"Plot: {to}")
    tables.show_worst(results, measure)


@batch.command(epilog="Example:\n\n  softctl batch rerun finger.study 17 --record --movie")
def rerun(
    study: Folder,
    run: Annotated[str, typer.Argument(metavar="RUN", help="Number or name of a run.")],
    record: Annotated[
        bool, typer.Option("--record", help="Record the run to records/RUN.mcap of the study.")
    ] = False,
    movie: Annotated[
        bool, typer.Option("--movie", help="Make a movie, movies/RUN.gif of the study.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Repeat one run, and compare it with its row bit for bit.

    Ends with status 1 if they differ.
    """
    from sofa_softctl.batch import running
    from sofa_softctl.view.terminal import batch as tables

    repeated = running.rerun(study, run, record=record)
    files = [repeated.record, _film(study, repeated.before) if movie else None]
    if as_json:
        comparison = {
            "same": not repeated.differing,
            "differing": repeated.differing,
            "changes": repeated.changes,
        }
        print_json({"row": repeated.row} | comparison)
    else:
        tables.show_row(repeated.row)
        for path in filter(None, files):
            typer.echo(f"Written: {path}")
        tables.show_differences(repeated)
    if repeated.differing:
        raise typer.Exit(ExitStatus.FAILED)


def _film(study: Path, row: Mapping[str, Any]) -> Path | None:
    """Return the movie of a repeated run, or None after a message."""
    from sofa_softctl.batch.execution.run_one import Task
    from sofa_softctl.batch.execution.workers import local_workers
    from sofa_softctl.batch.table.results import read_results

    results = read_results(study)
    design = results.study()
    path = study / "movies" / f"{row['run']}.gif"
    with local_workers(design, 1) as executor:
        problem = _filmer(executor)(Task(design.scenario, results.run(row)), path)
    if problem:
        typer.echo(f"No movie: {problem}", err=True)
        return None
    return path
