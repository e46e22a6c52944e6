"""Execution of one run of a study, in any process."""

from __future__ import annotations

import errno
import os
import platform
import shutil
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
from sofa_softctl.batch.execution.beginning import WarmSessionCache, seed
from sofa_softctl.batch.execution.isolation import Output, capture_output, restored_settings
from sofa_softctl.batch.study.measures import evaluate_measures, needs_record, to_plain, verdict_of
from sofa_softctl.batch.study.row import GONE, OK, Row, failure
from sofa_softctl.batch.study.study import Run, Scenario
from sofa_softctl.batch.table.folder import LOCK, TEMPORARY
from sofa_softctl.errors import StudyError
from sofa_softctl.status import Verdict

if TYPE_CHECKING:
    from sofa_softctl.scene.session.run import Observer


@dataclass(frozen=True)
class Task:
    """Run with all that a worker needs."""

    scenario: Scenario
    run: Run
    record: str = ""
    """Path of the recording, FILE.mcap, or "" for none."""
    failures_only: bool = False
    """Whether only recordings of failed runs are kept."""
    token: str = ""
    """Content of `LOCK` in the study's folder: workers that do not see it put the `recording` into
    the row. With "", all workers see the folder."""


_beginnings = WarmSessionCache()


def run_one(task: Task, observers: Sequence[Observer] = ()) -> Row:
    """Execute a run and return its columns, also after an error, unless the process dies.

    `parameters` and `measures` are dicts, `sources` the files that it read; there is no `digest`.
    `recording` is the content of the recording if this process does not see its folder.

    Random generators of Python and numpy are seeded from the run, and settings of the process are
    restored, so that a row does not depend on computer, time and earlier runs.

    Raises:
        StudyError: A disk is full, which is not a failure of this run.
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
    keep = _Keeper(task, row)
    with restored_settings(), capture_output() as output, files_read() as sources:
        try:
            row |= _result_of(task, keep, output, observers)
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


def has_failed(row: Mapping[str, Any]) -> bool:
    """Return True if a run did not end in order, or did not reach its goals."""
    verdict = row.get("verdict")
    return row["status"] != OK or bool(verdict and not Verdict[verdict].ok)


def is_filmed(row: Mapping[str, Any]) -> bool:
    """Return True if a study with movies of failures has one of this run: its process lives."""
    return has_failed(row) and row["status"] not in GONE


def _result_of(task: Task, keep: _Keeper, output: Output, observers: Sequence[Observer]) -> Row:
    if task.scenario.function:
        seed(task.run.id)
        measures = _call_function(task)
        return {"measures": measures} | _verdict(task.scenario, measures, None)
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
        arguments = {"session": session, "summary": summary, "record": record}
        row: Row = {"measures": evaluate_measures(scenario.measures, arguments)}
        row |= _verdict(scenario, row["measures"], summary.verdict)
        if summary.findings:
            row["reason"] = " ".join(finding.text for finding in summary.findings)
        if any(finding.is_failure for finding in summary.findings):
            row["verdict"] = Verdict.NOT_REACHED.name
        row |= {"steps": summary.steps, "time": summary.time, "ms_per_step": summary.ms_per_step}
        if (
            recording
            and task.record
            and not (task.failures_only and not has_failed(row | {"status": OK}))
        ):
            keep(recording)
    return row


def _verdict(scenario: Scenario, measures: Mapping[str, Any], verdict: Verdict | None) -> Row:
    """Return the column `verdict`: by the study's measure of success, or by controllers."""
    if scenario.success:
        verdict = verdict_of(measures, scenario.success)
    return {"verdict": verdict.name if verdict else None}


def _raise_full_disk(error: BaseException | None) -> None:
    """Raise StudyError if a disk is full: that is not a failure of the run."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            location = f" at '{error.filename}'" if error.filename else ""
            raise StudyError(
                f"A disk of {platform.node()} is full{location}: {error.strerror}. All finished "
                "rows are kept: free space, and run the study again to continue."
            ) from error
        error = error.__cause__ or error.__context__


@contextmanager
def _recording(task: Task, keep: _Keeper) -> Iterator[Path]:
    """Yield a temporary file to record to; after an error, the recording is kept.

    Notes of the error on that file are dropped: its name is another one in each run.
    """
    folder = keep.folder or Path(tempfile.gettempdir())
    remove_leftovers(folder)
    prefix = f"{TEMPORARY}{platform.node()}-{os.getpid()}-"
    with tempfile.TemporaryDirectory(prefix=prefix, dir=folder) as name:
        path = Path(name) / f"{task.run.id}.mcap"
        try:
            yield path
        except BaseException as error:
            if task.record and path.exists():
                keep(path)
            notes = [note for note in getattr(error, "__notes__", ()) if name not in note]
            if hasattr(error, "__notes__"):
                error.__notes__ = notes
            raise


def remove_leftovers(folder: Path) -> None:
    """Remove temporary folders of recordings whose processes on this computer were killed."""
    for path in folder.glob(f"{TEMPORARY}{platform.node()}-*"):
        pid = path.name.split("-")[-2]
        if pid.isdigit() and not _is_running(int(pid)):
            shutil.rmtree(path, ignore_errors=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user
        return True
    return True


class _Keeper:
    """Callable that moves a recording to its path, or into the row if its folder is not visible."""

    def __init__(self, task: Task, row: Row) -> None:
        self._task, self._row = task, row
        self.folder = Path(task.record).parent if task.record and _sees_folder(task) else None
        """Folder of the recording, or None for a temporary one."""

    def __call__(self, recording: Path) -> None:
        if self.folder:
            os.replace(recording, self._task.record)
        else:
            self._row["recording"] = recording.read_bytes()


def _sees_folder(task: Task) -> bool:
    """Return True if this process sees the study's folder, and not another of that name."""
    try:
        lock = Path(task.record).parents[1] / LOCK
        return not task.token or lock.read_text(encoding="ascii") == task.token
    except (OSError, ValueError):
        return False


def _call_function(task: Task) -> dict[str, Any]:
    file, _, name = task.scenario.function.rpartition(":")
    function = getattr(import_file(Path(file), "study"), name, None)
    if not callable(function):
        raise StudyError(f"'{file}' has no function '{name}'.")
    result = function(**task.run.parameters)
    if not isinstance(result, Mapping):
        raise StudyError(f"'{name}' of '{file}' gave {result!r:.80}. Expected a dict of measures.")
    return {str(key): to_plain(value, str(key)) for key, value in result.items()}
