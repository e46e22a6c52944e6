"""Do the runs of a study that are not there yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from queue import SimpleQueue
from time import monotonic
from typing import Any

from sofa_softctl.base.executors.retry import WorkerEndedError, submit_again
from sofa_softctl.base.files import replace_atomically
from sofa_softctl.batch.execution.check import check_study
from sofa_softctl.batch.execution.run_one import Task, failed, run_one
from sofa_softctl.batch.study.row import DIED, OK, OWN, Row, column_of, failure
from sofa_softctl.batch.study.study import Run, Study
from sofa_softctl.batch.table.folder import StudyFolder
from sofa_softctl.errors import ClusterError, StudyError

FLUSHES_EVERY = 2.0
"""Time after which rows are on disk: so much work a driver that is killed loses [s]."""
FLUSHES_AT = 500
"""Rows after which they are."""
WINDOW = 4
"""Tasks for each worker that wait in the executor."""


@dataclass
class Progress:
    """How far a study is."""

    total: int
    """Runs of the study."""
    before: int
    """Rows that were there."""
    done: int = 0
    """Rows since then."""
    failed: int = 0
    """Of these, runs that did not end in order or did not reach their goals."""
    last: Row | None = None
    """The row that was done last."""
    damaged: list[str] = field(default_factory=list)
    """Files of rows that could not be read, in words."""


def missing_runs(study: Study, done: Mapping[str, str]) -> Iterator[Run]:
    """Runs of a study that have no row, or whose process died.

    Args:
        study: The study.
        done: Status of each run that has a row.
    """
    return (run for run in study.runs() if done.get(run.id, DIED) == DIED)


def run_study(
    folder: StudyFolder,
    executor: Executor,
    *,
    most: int | None = None,
    again: bool = False,
    retry: bool = False,
    sources: Iterable[str] | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Check a study, and do the runs that have no row, in its order; each becomes one.

    Killed at any moment, it leaves the rows that were there `FLUSHES_EVERY` before, each once; the
    next call goes on. Ctrl-C writes all rows that came. A run whose process died, as by a signal,
    is tried once more at once, and by the next call again.

    Args:
        folder: The study's folder; its scene must not have changed, see `StudyFolder.changes`.
        executor: Does the runs; `executor.count` at once, else one.
        most: Number of runs after which it ends; None: all.
        again: Whether to take out all rows that are there.
        retry: Whether to take out those of runs that did not end in order.
        sources: Files that its first run reads, where the study was checked; None: check it.
        report: Called at the start, and after each row.

    Raises:
        StudyError: No run can succeed, see `check_study`; a disk is full, code was edited, or the
            executor is gone: rows that came are kept.
        ClusterError: Dask failed: rows that came are kept.
    """
    study = folder.study
    damaged = folder.table.set_damaged_aside()
    total = _renumbered(folder)
    done = folder.table.done()
    kept = {} if again else _in_order(done) if retry else done
    todo = missing_runs(study, kept)
    first = next(todo, None)
    if sources is None:
        sources = check_study(study, executor) if first else ()
    if kept is not done:
        folder.table.remove(done.keys() - kept.keys())
    folder.begin(sources, total)
    before = sum(status != DIED for status in kept.values())
    progress = Progress(total, before, damaged=damaged)
    report(progress)
    writer = _Writer(folder)
    tasks = map(_maker(folder), islice(chain([first], todo) if first else (), most))
    try:
        for row in _rows(executor, tasks):
            folder.add_sources(row.pop("sources", ()))
            row = columns_of(row) | {"digest": folder.digest}
            writer.add(row)
            progress.done += 1
            progress.failed += failed(row)
            progress.last = row
            report(progress)
    finally:
        writer.flush()
    return progress


def _in_order(done: Mapping[str, str]) -> dict[str, str]:
    """Status of runs that ended in order."""
    return {run: status for run, status in done.items() if status == OK}


def _renumbered(folder: StudyFolder) -> int:
    """Give rows the numbers that their runs have now; the number of runs of the study."""
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

    def make(run: Run) -> Task:
        path = folder.records.absolute() / f"{run.id}.mcap"
        record = "" if study.record == "none" else str(path)
        return Task(study.scenario, run, record, study.record == "failures", folder.token)

    return make


def _rows(executor: Executor, tasks: Iterator[Task]) -> Iterator[Row]:
    """Rows as they come, whatever comes of a task.

    The first task is done alone, so that kernels are compiled once, and loaded by the others.
    """
    running: dict[Future[Row], Task] = {}
    ended: SimpleQueue[Future[Row]] = SimpleQueue()
    allowed = 1
    try:
        while True:
            for task in islice(tasks, max(allowed - len(running), 0)):
                future = submit_again(executor, run_one, task)
                running[future] = task
                future.add_done_callback(ended.put)
            if not running:
                return
            future = ended.get()
            yield row_of(future, running.pop(future))
            allowed = WINDOW * max(getattr(executor, "count", 1), 1)
    finally:
        for future in running:
            future.cancel()


def row_of(future: Future[Row], task: Task) -> Row:
    """The row of a task, also of one whose process is gone; its recording is written.

    Raises:
        StudyError: The executor is gone, or a disk is full.
        ClusterError: Dask failed.
    """
    error = future.exception()
    if isinstance(error, ClusterError | StudyError):
        raise error
    if isinstance(error, BrokenExecutor) and not isinstance(error, WorkerEndedError):
        raise StudyError(
            "The executor is gone: its cluster was stopped. All rows that came are kept: run the "
            "study again, and it goes on."
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
    """Own columns, parameters, measures, all side by side."""
    parameters, measures = row.pop("parameters"), row.pop("measures", {})
    found: dict[str, Any] = {name: row.get(name) for name in OWN}
    found |= {column_of(name): value for name, value in parameters.items()}
    taken = set(found)
    return found | {f"measure.{n}" if n in taken else n: value for n, value in measures.items()}


class _Writer:
    """Puts rows on disk, some at a time."""

    def __init__(self, folder: StudyFolder) -> None:
        self._folder, self._rows, self._since = folder, list[Row](), monotonic()

    def add(self, row: Row) -> None:
        self._rows.append(row)
        if len(self._rows) >= FLUSHES_AT or monotonic() - self._since > FLUSHES_EVERY:
            self.flush()

    def flush(self) -> None:
        self._folder.refuse_edits()
        self._folder.table.append(self._rows)
        self._rows = []
        self._since = monotonic()
