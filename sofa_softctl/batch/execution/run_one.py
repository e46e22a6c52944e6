"""Do one run of a study, in whatever process."""

from __future__ import annotations

import errno
import os
import platform
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from sofa_softctl.base.files_read import files_read
from sofa_softctl.base.user_module import import_file
from sofa_softctl.batch.execution.beginning import Beginnings, seed
from sofa_softctl.batch.execution.isolation import Output, captured, isolated
from sofa_softctl.batch.study.measures import measured, needs_record, plain, verdict_of
from sofa_softctl.batch.study.row import OK, Row, failure
from sofa_softctl.batch.study.study import Run, Scenario
from sofa_softctl.batch.table.folder import LOCK
from sofa_softctl.errors import StudyError
from sofa_softctl.status import Verdict

if TYPE_CHECKING:
    from sofa_softctl.scene.session.run import Observer


@dataclass(frozen=True)
class Task:
    """A run, and all that a worker needs for it."""

    scenario: Scenario
    run: Run
    record: str = ""
    """Where its recording goes, FILE.mcap; empty: nowhere."""
    failures_only: bool = False
    """Whether only a run that fails leaves its recording."""
    token: str = ""
    """Content of `LOCK` in the study's folder, which a worker may not see: then its row has the
    `recording`. Empty: it sees it."""


_beginnings = Beginnings()


def run_one(task: Task, observers: Sequence[Observer] = ()) -> Row:
    """Columns of a run, whatever happens in it; only the process itself may end.

    `parameters` and `measures` are dicts, `sources` the files that it read; there is no `digest`.
    `recording` is the content of its recording, where its folder is not seen from here.

    Random generators of Python and numpy are seeded from what is run, and settings of the process
    are restored, so that a row does not depend on where, when, and after which others it is done.

    Raises:
        StudyError: A disk is full, which is no failure of this run.
    """
    begin = perf_counter()
    row: Row = {
        "run": task.run.id,
        "index": task.run.index,
        "parameters": dict(task.run.parameters),
        "status": OK,
        "started": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "worker": f"{platform.node()}:{os.getpid()}",
    }
    keep = _Keep(task, row)
    with isolated(), captured() as output, files_read() as sources:
        try:
            row |= _done(task, keep, output, observers)
        except Exception as error:
            _raise_full_disk(error)
            row |= failure(error)
        except SystemExit as error:
            row |= failure(error)
        if row["status"] != OK:
            row["output"] = output.text
    row["sources"] = sorted(sources)
    row["seconds"] = perf_counter() - begin
    return row


def failed(row: Mapping[str, Any]) -> bool:
    """Whether a run did not end in order, or did not reach its goals."""
    verdict = row.get("verdict")
    return row["status"] != OK or bool(verdict and not Verdict[verdict].ok)


def _done(task: Task, keep: _Keep, output: Output, observers: Sequence[Observer]) -> Row:
    if task.scenario.function:
        seed(task.run.id)
        found = _of_function(task)
        return {"measures": found} | _verdict(task.scenario, found, None)
    from sofa_softctl.record.record import read_record
    from sofa_softctl.scene.session.run import run, step_count

    scenario = task.scenario
    with ExitStack() as stack:
        session = stack.enter_context(_beginnings.session(scenario, task.run.parameters, output))
        steps = step_count(session, scenario.steps, scenario.duration, session.duration or 1.0)
        if scenario.steps_most is not None and steps > scenario.steps_most:
            raise StudyError(
                f"it needs {steps:,} steps of dt = {session.dt:g}, more than [limits] steps = "
                f"{scenario.steps_most:,}."
            )
        recording = None
        if task.record or needs_record(scenario.measures):
            recording = stack.enter_context(_recording(task, keep))
        seed(task.run.id)
        with session.recording(recording) if recording else ExitStack():
            summary = run(session, steps, observers)
        record = read_record(recording) if recording else None
        given = {"session": session, "summary": summary, "record": record}
        row: Row = {"measures": measured(scenario.measures, given)}
        row |= _verdict(scenario, row["measures"], summary.verdict)
        if summary.findings:
            row["reason"] = " ".join(finding.text for finding in summary.findings)
        if any(finding.is_failure for finding in summary.findings):
            row["verdict"] = Verdict.NOT_REACHED.name
        row |= {"steps": summary.steps, "time": summary.time, "ms_per_step": summary.ms_per_step}
        if (
            recording
            and task.record
            and not (task.failures_only and not failed(row | {"status": OK}))
        ):
            keep(recording)
    return row


def _verdict(scenario: Scenario, measures: Mapping[str, Any], own: Verdict | None) -> Row:
    """The column `verdict`: by the study's measure of success, or the controllers' own."""
    if scenario.success:
        own = verdict_of(measures, scenario.success)
    return {"verdict": own.name if own else None}


def _raise_full_disk(error: BaseException | None) -> None:
    """End the study where a disk is full: runs that have space are no failures."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            at = f" at '{error.filename}'" if error.filename else ""
            raise StudyError(
                f"A disk of {platform.node()} is full{at}: {error.strerror}. All rows that came "
                "are kept: free space, and the same study goes on."
            ) from error
        error = error.__cause__ or error.__context__


@contextmanager
def _recording(task: Task, keep: _Keep) -> Iterator[Path]:
    """A file to record to, which is gone at the end unless it was moved; what failed is kept."""
    folder = keep.folder
    with tempfile.TemporaryDirectory(prefix=".record-", dir=folder) as name:
        path = Path(name) / f"{task.run.id}.mcap"
        try:
            yield path
        except BaseException:
            if task.record and path.exists():
                keep(path)
            raise


class _Keep:
    """Puts a recording where it belongs; into the row where that is not seen from here."""

    def __init__(self, task: Task, row: Row) -> None:
        self._task, self._row = task, row
        self.folder = Path(task.record).parent if task.record and _sees_folder(task) else None
        """Where it is written; None: a temporary folder."""

    def __call__(self, recording: Path) -> None:
        if self.folder:
            os.replace(recording, self._task.record)
        else:
            self._row["recording"] = recording.read_bytes()


def _sees_folder(task: Task) -> bool:
    """Whether this process sees the study's folder; one of that name may be another."""
    try:
        lock = Path(task.record).parents[1] / LOCK
        return not task.token or lock.read_text(encoding="ascii") == task.token
    except (OSError, ValueError):
        return False


def _of_function(task: Task) -> dict[str, Any]:
    file, _, name = task.scenario.function.rpartition(":")
    function = getattr(import_file(Path(file), "study"), name, None)
    if not callable(function):
        raise StudyError(f"'{file}' has no function '{name}'.")
    found = function(**task.run.parameters)
    if not isinstance(found, Mapping):
        raise StudyError(f"'{name}' of '{file}' gave {found!r:.80}. Expected a dict of measures.")
    return {str(key): plain(value, str(key)) for key, value in found.items()}
