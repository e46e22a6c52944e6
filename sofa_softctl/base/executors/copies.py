"""Copies of an object, spread over worker processes in which they stay, and calls of all of them.

Python runs one thread at a time, and a third of a small scene's step is Python. Two threads make
0.9 to 1.2 times the steps of one, although kernels can run beside each other: each of ten changes
of the thread in a step costs 60 us, as the counts of references to common objects move from one
core's cache to the other's. So several cores take several processes. Each has many copies, which
share its modules and compiled kernels, and gets one message for all of them.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.base.executors.by_value import portable, refuse_in_a_worker
from sofa_softctl.base.executors.local import LocalExecutor
from sofa_softctl.base.executors.worker import RemoteTraceback
from sofa_softctl.base.machine import core_count
from sofa_softctl.base.processes import TerminationSignal
from sofa_softctl.errors import UsageError, WorkerError


class Outcome(NamedTuple):
    """Outcome of a call for one of the copies."""

    result: Any
    error: Exception | None
    """Exception that ended the call, or None."""
    traceback: str = ""
    """Traceback in the process of the copy, or ""."""


class Copies:
    """Copies of an object, which are created once and called together.

    Args:
        create: Returns a copy for its number, from 0; with workers it is sent to them.
        count: Number of copies.
        workers: Number of processes that share the copies; 0 keeps all in this process.
        name: Name of the object, for messages.
        delete: Called with each copy at the end.

    Raises:
        UsageError: There is no copy, or there are more workers than copies or cores.
        WorkerError: A process ended before its copies were created.
        Exception: The first error of `create`.
    """

    def __init__(
        self,
        create: Callable[[int], Any],
        count: int,
        workers: int = 0,
        *,
        name: str = "object",
        delete: Callable[[Any], object] | None = None,
    ) -> None:
        if count < 1:
            raise UsageError(f"Copies are 1 or more. Got: {count}")
        limit = min(count, core_count())
        if not 0 <= workers <= limit:
            raise UsageError(
                f"{count} copies take 0 to {limit} processes, one for each copy and core at most. "
                f"Got: {workers}"
            )
        if workers:
            refuse_in_a_worker()
        self.count, self.name, self._delete = count, name, delete
        self._local: dict[int, Any] = {}
        self._groups = [list(map(int, g)) for g in np.array_split(range(count), workers or 1)]
        self._executors = [LocalExecutor(1) for _ in range(workers)]
        self._is_closed = False
        try:
            self._run(_create_all, create, [[number] for number in range(count)])
        except BaseException:
            self.close(kill=True)
            raise

    def call(self, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        """Return function(copy, *arguments) of all copies.

        Args:
            function: Function of a copy; with workers it is sent to them, and so are its results.
            columns: For each further argument the values for all copies.

        Raises:
            WorkerError: A process ended; the other processes' copies are lost, too.
            Exception: The first error, with the number of its copy, after all calls have ended.
        """
        outcomes = self.try_call(function, *columns)
        raise_first(outcomes, self.name)
        return [outcome.result for outcome in outcomes]

    def try_call(self, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Outcome]:
        """Return the outcomes of function(copy, *arguments), as `call`, with the copies' errors."""
        for values in columns:
            if len(values) != self.count:
                raise UsageError(f"{self.count} copies take as many values. Got: {len(values)}")
        rows = list(zip(*columns, strict=True)) if columns else [()] * self.count
        return self._run(_call_all, function, rows)

    def _run(self, task: Any, function: Callable[..., Any], rows: Sequence[Any]) -> Any:
        if self._is_closed:
            raise WorkerError(f"The copies of the {self.name} have ended: create others.")
        parts = [(group, [rows[number] for number in group]) for group in self._groups]
        if not self._executors:
            return task(self._local, function, *parts[0])
        function = portable(function, f"copies of the {self.name}")
        futures = [
            executor.submit(_run_in_worker, task, function, *part)
            for executor, part in zip(self._executors, parts, strict=True)
        ]
        try:
            outcomes = [outcome for future in futures for outcome in future.result()]
        except BrokenExecutor as error:
            self.close(kill=True)
            raise WorkerError(
                f"A process with copies of the {self.name} was lost: {error}. The copies in the "
                "others ended, too. Take fewer of them if memory was full."
            ) from error
        except KeyboardInterrupt:
            self.close(kill=True)
            raise
        return outcomes

    def close(self, *, kill: bool = False) -> None:
        """Delete the copies, and end their processes; a second call does nothing.

        Args:
            kill: Whether to end calls that are under way, without `delete`; Ctrl-C does, too.
        """
        if self._is_closed:
            return
        try:
            if not kill and self._delete is not None:
                self.call(self._delete)
        finally:
            self._is_closed = True
            self._local.clear()
            for executor in self._executors:
                executor.shutdown(cancel_futures=True)


def raise_first(outcomes: Sequence[Outcome], name: str) -> None:
    """Raise the first error among outcomes, with a note on the copies that have one."""
    failed = [number for number, outcome in enumerate(outcomes) if outcome.error is not None]
    if failed and (error := outcomes[failed[0]].error) is not None:
        if outcomes[failed[0]].traceback:
            error.__cause__ = RemoteTraceback(outcomes[failed[0]].traceback)
        also = f"; {len(failed) - 1} more failed" if len(failed) > 1 else ""
        error.add_note(f"This was in {name} {failed[0]} of {len(outcomes)}, from 0{also}.")
        raise error


_in_worker: dict[int, Any] = {}
"""Copies in this worker process, by number."""


def _run_in_worker(task: Any, function: Any, numbers: list[int], rows: list[Any]) -> Any:
    if task is not _create_all and numbers[0] not in _in_worker:
        raise BrokenExecutor("another process has taken its place")
    outcomes = task(_in_worker, function, numbers, rows)
    return [_portable(outcome) for outcome in outcomes]


def _create_all(copies: dict[int, Any], create: Any, numbers: list[int], _: Any) -> list[Any]:
    for number in numbers:
        try:
            copies[number] = _without_exit(create, number)
        except Exception as error:
            error.add_note(f"This was copy {number}, from 0.")
            raise
    return []


def _call_all(
    copies: dict[int, Any], function: Any, numbers: list[int], rows: list[Any]
) -> list[Outcome]:
    outcomes = []
    for number, row in zip(numbers, rows, strict=True):
        try:
            outcomes.append(Outcome(_without_exit(function, copies[number], *row), None))
        except Exception as error:
            outcomes.append(Outcome(None, error))
    return outcomes


def _without_exit(function: Any, *arguments: Any) -> Any:
    """Return function(*arguments); WorkerError if it calls exit."""
    try:
        return function(*arguments)
    except SystemExit as ended:
        if isinstance(ended, TerminationSignal):
            raise
        message = f"The copy called exit({ended.code!r}). Raise an exception instead."
        raise WorkerError(message) from ended


def _portable(outcome: Outcome) -> Outcome:
    """Return an outcome whose error can be pickled."""
    error = outcome.error
    if error is None:
        return outcome
    text = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    return Outcome(None, error, text)
