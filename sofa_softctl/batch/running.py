"""Run a study in Python, and read or repeat its runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing import current_process
from pathlib import Path

from sofa_softctl.base.executors.local import LocalExecutor
from sofa_softctl.base.executors.retry import WorkerEndedError
from sofa_softctl.batch.bar import Bar
from sofa_softctl.batch.execution.driver import Progress, run_study
from sofa_softctl.batch.execution.run_one import Task
from sofa_softctl.batch.execution.workers import differences, local_workers, repeated, study_workers
from sofa_softctl.batch.study.row import Row
from sofa_softctl.batch.study.study import Study
from sofa_softctl.batch.table.folder import SUFFIX, StudyFolder, changes_since, other_kernels
from sofa_softctl.batch.table.results import Results, read_results
from sofa_softctl.errors import StudyError

_GUARD = (
    "Worker processes import the script that runs a study. Put the call of sofa_softctl.batch "
    'below a line: if __name__ == "__main__":'
)


@dataclass(frozen=True)
class Repetition:
    """A run that was done again."""

    row: Row
    """Row of the repeated run, by column."""
    before: Row
    """Row in the study."""
    differing: list[str]
    """Columns in which the rows differ by a bit, except times."""
    changes: list[str]
    """Changes since the run, in words, if the rows differ."""
    record: Path | None
    """Recording of the repeated run, or None."""


def run(
    study: Study,
    folder: str | os.PathLike[str] | None = None,
    *,
    workers: int | None = None,
    cluster: str = "",
    again: bool = False,
    retry: bool = False,
    anyway: bool = False,
    quiet: bool = False,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Results:
    """Run the runs of a study that have no row yet; each becomes a row, even if it fails.

    Ctrl-C, or a kill, loses no row: the same call continues. Workers are new processes that import
    the script that is run: without `if __name__ == "__main__":` around this call they would do so
    too, which is refused. Only `softctl batch` makes movies.

    Args:
        study: The study.
        folder: Folder of its rows; NAME.study, beside the study's file or in the working directory,
            when left out.
        workers: Number of simultaneous runs; by default one per core.
        cluster: Address of a Dask scheduler, such as 'tcp://host:8786', whose workers do the runs;
            empty: processes of this computer.
        again: Do all runs again: rows that are there go.
        retry: Do runs again that raised, diverged, exceeded a limit or died: their rows go.
        anyway: Go on although the scene has changed since.
        quiet: Show no progress bar on a terminal.
        report: Called at the start, and after each run.

    Returns:
        All rows of the study, also those from before.

    Raises:
        StudyError: No run can succeed: the scene cannot be loaded, or has no such parameter, Data
            or measure; rows that are there were made of something else, by another study, or are
            being made by another process; rows cannot be written; or no worker can be started.
        UsageError: There are `workers` and a `cluster`.
        ClusterError: The cluster cannot be used, or failed; rows that came are kept.
    """
    _refuse_in_a_worker()
    path = Path(folder or Path(study.folder) / f"{study.name}{SUFFIX}")
    with ExitStack() as stack:
        local = stack.enter_context(_start_workers(study, workers, cluster))
        study_folder = stack.enter_context(StudyFolder(path, study))
        if not (anyway or again):
            study_folder.refuse_changes("again=True", "anyway=True", "folder")
        executor, sources = stack.enter_context(study_workers(study, local, cluster))
        bar = stack.enter_context(Bar(quiet=quiet))

        def show(progress: Progress) -> None:
            bar.show(progress)
            report(progress)

        run_study(study_folder, executor, again=again, retry=retry, sources=sources, report=show)
    return read_results(path)


def read(folder: str | os.PathLike[str]) -> Results:
    """Read the folder of a study, also while it is run.

    Raises:
        StudyError: The folder is not of a study, or pyarrow is not installed.
    """
    return read_results(Path(folder))


def rerun(folder: str | os.PathLike[str], run: int | str, *, record: bool = False) -> Repetition:
    """Repeat one run of a study, and compare it with its row.

    Args:
        folder: Folder of the study; its rows stay as they are.
        run: Number or name of the run.
        record: Record it, to records/RUN.mcap of the folder.

    Raises:
        StudyError: The run is unknown, or no worker can be started.
    """
    _refuse_in_a_worker()
    results = read(folder)
    before, study = results.row(str(run)), results.study()
    path = (results.path / "records" / f"{before['run']}.mcap").absolute()
    if record:
        path.parent.mkdir(exist_ok=True)
    with _start_workers(study, 1) as executor:
        task = Task(study.scenario, results.run(before), str(path) if record else "")
        row = repeated(task, executor)
    written = path if record and path.exists() else None
    differing = differences(before, results.as_stored(row))
    changes = changes_since(results.path, results.about) + other_kernels(results.about)
    return Repetition(row, before, differing, changes if differing else [], written)


def _start_workers(study: Study, count: int | None, cluster: str = "") -> LocalExecutor:
    """Start local workers, and check that one runs.

    Raises:
        StudyError: None can be started.
    """
    from sofa_softctl.plugins import load_files, plugins
    from sofa_softctl.scene.backend.backend import find_backend

    find_backend(study.scenario.backend)
    manager = plugins().manager
    load_files([name for name in study.plugins if not manager.has_plugin(name)])
    executor = local_workers(study, count, cluster)
    try:
        executor.submit(os.getpid).result()
    except WorkerEndedError as error:
        executor.shutdown(cancel_futures=True)
        raise StudyError(f"No worker process can be started: {error}. {_GUARD}") from error
    return executor


def _refuse_in_a_worker() -> None:
    """An end where a worker imports a script that runs a study.

    Raises:
        StudyError: It imports it for a task.
        SystemExit: It imports it at its own start.
    """
    process = current_process()
    if getattr(process, "_inheriting", False):  # of multiprocessing: until its start is complete
        raise SystemExit(_GUARD)
    if process.daemon:
        raise StudyError(_GUARD)
