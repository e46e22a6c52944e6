"""Run a study in Python, and read or repeat its runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing import current_process
from pathlib import Path

from sofa_softctl.base.executors.by_value import GUARD, refuse_in_a_worker
from sofa_softctl.base.executors.local import LocalExecutor
from sofa_softctl.base.executors.retry import WorkerEndedError
from sofa_softctl.batch.bar import Bar
from sofa_softctl.batch.execution.driver import Progress, run_study
from sofa_softctl.batch.execution.run_one import Task
from sofa_softctl.batch.execution.workers import differences, local_workers, repeat, study_workers
from sofa_softctl.batch.study.row import Row
from sofa_softctl.batch.study.study import Study
from sofa_softctl.batch.table.folder import SUFFIX, StudyFolder, changes_since, other_kernels
from sofa_softctl.batch.table.results import Results, read_results
from sofa_softctl.errors import StudyError


@dataclass(frozen=True)
class Repetition:
    """Repetition of a run."""

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
        folder: Folder of the rows; by default NAME.study next to the study's file, or in the
            working directory.
        workers: Number of simultaneous runs; by default one per core.
        cluster: Address of a Dask scheduler, such as 'tcp://host:8786', whose workers do the runs;
            or "" for processes of this computer.
        again: Repeat all runs and replace their rows.
        retry: Repeat runs that raised, diverged, exceeded a limit or died, and replace their rows.
        anyway: Continue although the scene has changed.
        quiet: Show no progress bar on a terminal.
        report: Called at the start, and after each run.

    Returns:
        All rows of the study, also those from before.

    Raises:
        StudyError: No run can succeed: the scene cannot be loaded, or a parameter, Data or measure
            is missing; existing rows are of other sources or another study, or another process
            writes them; rows cannot be written; or no worker can be started.
        UsageError: Both `workers` and `cluster` are given.
        ClusterError: The cluster cannot be used, or failed; finished rows are kept.
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
    """Read the folder of a study, also during its runs.

    Raises:
        StudyError: The folder is not of a study, or pyarrow is not installed.
    """
    return read_results(Path(folder))


def rerun(folder: str | os.PathLike[str], run: int | str, *, record: bool = False) -> Repetition:
    """Repeat one run of a study, and compare it with its row.

    Args:
        folder: Folder of the study; its rows stay as they are.
        run: Number or name of the run.
        record: Record the run to records/RUN.mcap of the folder.

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
        row = repeat(task, executor)
    written = path if record and path.exists() else None
    differing = differences(before, results.as_stored(row))
    changes = changes_since(results.path, results.about) + other_kernels(results.about)
    return Repetition(row, before, differing, changes if differing else [], written)


def _start_workers(study: Study, count: int | None, cluster: str = "") -> LocalExecutor:
    """Start local workers, and check that one runs.

    Raises:
        StudyError: No worker can be started.
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
        raise StudyError(f"No worker process can be started: {error}. {GUARD}") from error
    return executor


def _refuse_in_a_worker() -> None:
    """Stop a worker that imports a script that runs a study.

    Raises:
        StudyError: It imports the script for a task.
        SystemExit: It imports the script at its start.
    """
    refuse_in_a_worker()
    if current_process().daemon:
        raise StudyError(GUARD)
