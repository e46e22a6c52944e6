"""Do a study in Python, and read or repeat what was done."""

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
    """Its row now, by column."""
    before: Row
    """Its row in the study."""
    differing: list[str]
    """Columns in which they differ by a bit, but for those of time; empty: it is the same."""
    changes: list[str]
    """What it is made of and has changed since, in words, where they differ."""
    record: Path | None
    """Its recording; None: it has none."""


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
    """Do the runs of a study that have no row yet; each becomes one, whatever happens in it.

    Ctrl-C, or a kill, loses no row: the same call goes on. Workers are new processes, which import
    the script that is run: without `if __name__ == "__main__":` around this call they would do so
    too, which is refused. Movies are made by `softctl batch` alone.

    Args:
        study: The study.
        folder: Where its rows go; NAME.study, beside the study's file or in the working directory,
            when left out.
        workers: Runs at the same time; None: one a core.
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
        here = stack.enter_context(_started(study, workers, cluster))
        opened = stack.enter_context(StudyFolder(path, study))
        if not (anyway or again):
            opened.refuse_changes("again=True", "anyway=True", "folder")
        executor, sources = stack.enter_context(study_workers(study, here, cluster))
        bar = stack.enter_context(Bar(quiet=quiet))

        def show(progress: Progress) -> None:
            bar.show(progress)
            report(progress)

        run_study(opened, executor, again=again, retry=retry, sources=sources, report=show)
    return read_results(path)


def read(folder: str | os.PathLike[str]) -> Results:
    """Read the folder of a study, also while it is run.

    Raises:
        StudyError: It is none, or pyarrow is not installed.
    """
    return read_results(Path(folder))


def rerun(folder: str | os.PathLike[str], run: int | str, *, record: bool = False) -> Repetition:
    """Do one run of a study again, alone, and compare it with its row.

    Args:
        folder: Folder of the study; its rows stay as they are.
        run: Number or name of the run.
        record: Record it, to records/RUN.mcap of the folder.

    Raises:
        StudyError: There is no such run, or no worker can be started.
    """
    _refuse_in_a_worker()
    found = read(folder)
    before, study = found.row(str(run)), found.study()
    path = (found.path / "records" / f"{before['run']}.mcap").absolute()
    if record:
        path.parent.mkdir(exist_ok=True)
    with _started(study, 1) as executor:
        task = Task(study.scenario, found.run(before), str(path) if record else "")
        row = repeated(task, executor)
    written = path if record and path.exists() else None
    differing = differences(before, found.as_stored(row))
    changes = changes_since(found.path, found.about) + other_kernels(found.about)
    return Repetition(row, before, differing, changes if differing else [], written)


def _started(study: Study, count: int | None, cluster: str = "") -> LocalExecutor:
    """See `local_workers`; one was seen to start.

    Raises:
        StudyError: None can be started.
    """
    from sofa_softctl.plugins import load_files, plugins
    from sofa_softctl.scene.backend.backend import find_backend

    find_backend(study.scenario.backend)
    there = plugins().manager
    load_files([each for each in study.plugins if not there.has_plugin(each)])
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
