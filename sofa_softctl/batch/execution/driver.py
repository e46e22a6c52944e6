"""Execution of the missing runs of a study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from sofa_softctl.base.executors.retry import WorkerEndedError, submit_again
from sofa_softctl.base.files import replace_atomically
from sofa_softctl.batch.execution.check import check_study
from sofa_softctl.batch.execution.run_one import Task, has_failed, run_one
from sofa_softctl.batch.study.row import DIED, OK, OWN, Row, column_of, failure
from sofa_softctl.batch.study.study import Run, Study
from sofa_softctl.batch.table.folder import StudyFolder
from sofa_softctl.errors import ClusterError, StudyError

FLUSH_INTERVAL = 2.0
"""Time after which rows are written, lost if the driver is killed [s]."""
FLUSH_ROWS = 500
"""Number of rows after which they are written."""
TASKS_PER_WORKER = 4
"""Number of tasks per worker that are in the executor."""


@dataclass
class Progress:
    """Progress of a study."""

    total: int
    """Runs of the study."""
    before: int
    """Rows of earlier calls."""
    done: int = 0
    """Rows of this call."""
    failed: int = 0
    """Number of these runs that did not end in order or did not reach their goals."""
    last: Row | None = None
    """Last row."""
    damaged: list[str] = field(default_factory=list)
    """Descriptions of files of rows that could not be read."""
    unfinished: int = 0
    """Number of runs with a recording of a killed driver and no row, which are done again."""


def missing_runs(study: Study, status_by_run: Mapping[str, str]) -> Iterator[Run]:
    """Return the runs of a study without a row, or whose process died.

    Args:
        study: The study.
        status_by_run: Status of each run that has a row.
    """
    return (run for run in study.runs() if status_by_run.get(run.id, DIED) == DIED)


def run_study(
    folder: StudyFolder,
    executor: Executor,
    *,
    count_max: int | None = None,
    again: bool = False,
    retry: bool = False,
    sources: Iterable[str] | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Check a study, and execute its runs without a row in order; each becomes a row.

    If killed, it leaves all rows from `FLUSH_INTERVAL` before, each once; the next call continues.
    Ctrl-C writes all finished rows. A run whose process died, for example by a signal, is repeated
    once immediately, and again by the next call.

    Args:
        folder: The study's folder; its scene must not have changed, see `StudyFolder.changes`.
        executor: Executes `executor.count` runs simultaneously, by default one.
        count_max: Maximum number of runs, or None for all.
        again: Whether to remove all existing rows.
        retry: Whether to remove rows of runs that did not end in order.
        sources: Files that the first run reads, if the study was checked, or None to check it.
        report: Called at the start, and after each row.

    Raises:
        StudyError: No run can succeed, see `check_study`; a disk is full, code was edited, or the
            executor is gone: finished rows are kept.
        ClusterError: Dask failed: finished rows are kept.
    """
    study = folder.study
    damaged = folder.table.set_damaged_aside()
    total = _renumber(folder)
    statuses = folder.table.status_by_run()
    kept_statuses = {} if again else _in_order(statuses) if retry else statuses
    todo = missing_runs(study, kept_statuses)
    first = next(todo, None)
    if sources is None:
        sources = check_study(study, executor) if first else ()
    if kept_statuses is not statuses:
        folder.table.remove(statuses.keys() - kept_statuses.keys())
    folder.begin(sources, total)
    before = sum(status != DIED for status in kept_statuses.values())
    recorded = {path.stem for path in folder.records.glob("*.mcap")}
    progress = Progress(total, before, damaged=damaged, unfinished=len(recorded - statuses.keys()))
    report(progress)
    writer = _Writer(folder)
    tasks = map(_maker(folder), islice(chain([first], todo) if first else (), count_max))
    try:
        for row in _rows(executor, tasks):
            if row is None:
                writer.flush_if_due()
                continue
            folder.add_sources(row.pop("sources", ()))
            row = columns_of(row) | {"digest": folder.digest}
            writer.add(row)
            progress.done += 1
            progress.failed += has_failed(row)
            progress.last = row
            report(progress)
        folder.remove_leftovers()  # of runs that were killed at a limit
    finally:
        writer.flush()
    return progress


def _in_order(statuses: Mapping[str, str]) -> dict[str, str]:
    """Return the statuses of runs that ended in order."""
    return {run: status for run, status in statuses.items() if status == OK}


def _renumber(folder: StudyFolder) -> int:
    """Update the numbers of rows from the study; return its number of runs."""
    names = folder.table.names()
    numbers, total = {}, 0
    for run in folder.study.runs():
        total += 1
        if run.id in names:
            numbers[run.id] = run.index
    folder.table.renumber(numbers)
    return total


def _maker(folder: StudyFolder) -> Callable[[Run], Task]:
    study = folder.study
    if study.record != "none":
        folder.records.mkdir(exist_ok=True)

    def make_task(run: Run) -> Task:
        path = folder.records.absolute() / f"{run.id}.mcap"
        record = "" if study.record == "none" else str(path)
        return Task(study.scenario, run, record, study.record == "failures", folder.token)

    return make_task


def _rows(executor: Executor, tasks: Iterator[Task]) -> Iterator[Row | None]:
    """Yield the rows of finished tasks, and None if none has ended for `FLUSH_INTERVAL`.

    The first task runs before all others, so that kernels are compiled once.
    """
    running: dict[Future[Row], Task] = {}
    ended: SimpleQueue[Future[Row]] = SimpleQueue()
    task_count = 1
    try:
        while True:
            for task in islice(tasks, max(task_count - len(running), 0)):
                future = submit_again(executor, run_one, task)
                running[future] = task
                future.add_done_callback(ended.put)
            if not running:
                return
            try:
                future = ended.get(timeout=FLUSH_INTERVAL)
            except Empty:
                yield None
                continue
            yield row_of(future, running.pop(future))
            task_count = TASKS_PER_WORKER * max(getattr(executor, "count", 1), 1)
    finally:
        for future in running:
            future.cancel()


def row_of(future: Future[Row], task: Task) -> Row:
    """Return the row of a task, also if its process is gone, and write its recording.

    Raises:
        StudyError: The executor is gone, or a disk is full.
        ClusterError: Dask failed.
    """
    error = future.exception()
    if isinstance(error, ClusterError | StudyError):
        raise error
    if isinstance(error, BrokenExecutor) and not isinstance(error, WorkerEndedError):
        raise StudyError(
            "The executor is gone: its cluster was stopped. All finished rows are kept: run the "
            "study again to continue."
        ) from error
    if error is None:
        row = future.result()
        if recording := row.pop("recording", None):
            with replace_atomically(Path(task.record), StudyError) as temporary:
                temporary.write_bytes(recording)
        return row
    parameters = dict(task.run.parameters)
    return {"run": task.run.id, "index": task.run.index, "parameters": parameters} | failure(error)


def columns_of(row: Row) -> Row:
    """Return a row as a flat dict of general columns, parameters and measures."""
    parameters, measures = row.pop("parameters"), row.pop("measures", {})
    columns: dict[str, Any] = {name: row.get(name) for name in OWN}
    columns |= {column_of(name): value for name, value in parameters.items()}
    names = set(columns)
    return columns | {f"measure.{n}" if n in names else n: value for n, value in measures.items()}


class _Writer:
    """Writer of rows in batches."""

    def __init__(self, folder: StudyFolder) -> None:
        self._folder, self._rows, self._since = folder, list[Row](), monotonic()

    def add(self, row: Row) -> None:
        self._rows.append(row)
        self.flush_if_due()

    def flush_if_due(self) -> None:
        if len(self._rows) >= FLUSH_ROWS or (
            self._rows and monotonic() - self._since > FLUSH_INTERVAL
        ):
            self.flush()

    def flush(self) -> None:
        self._folder.refuse_edits()
        self._folder.table.append(self._rows)
        self._rows = []
        self._since = monotonic()
