"""Repetition of tasks whose worker process died, and errors of those that stay lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from sofa_softctl.errors import WorkerError


@dataclass(frozen=True)
class LostTask:
    """Known facts about a task whose worker is gone."""

    worker: str
    """Process of the task, HOST:PID."""
    started: str
    """Start time, in ISO format."""
    seconds: float
    """Time until its end [s]."""
    output: str
    """End of the task's output, if written to `worker.output_file`."""
    traceback: str
    """Stack of Python at the end, or "" if the process could not write it, as after SIGKILL."""


class WorkerEndedError(BrokenExecutor):
    """A worker process died with a task, or was killed because the task exceeded a limit.

    Other tasks are not affected: another worker replaces it.
    """

    def __init__(self, kind: str, text: str, task: LostTask | None = None) -> None:
        super().__init__(text)
        self.kind = kind
        """'died', 'time' or 'memory'."""
        self.task = task
        """The lost task, or None if nothing is known of it."""

    def __reduce__(self) -> tuple[type[WorkerEndedError], tuple[str, str, LostTask | None]]:
        """Keep all arguments when the error is sent from a cluster."""
        return type(self), (self.kind, str(self), self.task)


T = TypeVar("T")

TRIES_MAX = 2
"""Number of workers that a task may kill before it counts as lost."""
CONTINUE_ADVICE = (
    "All that was measured is in the file: the same command goes on with it, perhaps with fewer "
    "workers."
)
"""Argument `saved` of `raise_worker_error` if results are written immediately."""


def submit_again(executor: Executor, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
    """Submit a task that is repeated once if its worker died, for example out of memory.

    The result must depend only on the arguments.

    Returns:
        Future, which raises WorkerEndedError if a second worker died or the task exceeded a limit
        of the executor, and BrokenExecutor if the executor is gone.
    """
    future: Future[Any] = Future()
    _try(executor, future, TRIES_MAX, function, args)
    return future


def in_order(
    executor: Executor | None, function: Callable[..., T], /, *arguments: Iterable[Any]
) -> Iterator[T]:
    """Yield the results of a function for each set of arguments, in order, like `map`.

    Args:
        executor: Runs several tasks at a time, by `submit_again`; None to run them here in turn.
        function: Function of each task.
        arguments: An iterable for each argument, all of the same length.

    Raises:
        Exception: Raised by a task; waiting tasks are then cancelled.
    """
    yield from _results(executor, function, arguments, list)


def as_done(
    executor: Executor | None, function: Callable[..., T], /, *arguments: Iterable[Any]
) -> Iterator[T]:
    """Yield the results like `in_order`, but each as soon as it is complete."""
    yield from _results(executor, function, arguments, as_completed)


def _results(
    executor: Executor | None,
    function: Callable[..., T],
    arguments: Sequence[Iterable[Any]],
    order: Callable[[Iterable[Future[T]]], Iterable[Future[T]]],
) -> Iterator[T]:
    if executor is None:
        for values in zip(*arguments, strict=True):
            yield function(*values)
        return
    futures = [submit_again(executor, function, *values) for values in zip(*arguments, strict=True)]
    try:
        for future in order(futures):
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


@contextmanager
def raise_worker_error(saved: str) -> Iterator[None]:
    """Convert the loss of workers in the block to WorkerError.

    Args:
        saved: Sentence on the saved part of the work, and how to continue.
    """
    try:
        yield
    except BrokenExecutor as error:
        raise WorkerError(
            f"A worker process ended before it had answered: {error}. {saved}"
        ) from error


def _try(
    executor: Executor,
    future: Future[Any],
    tries_left: int,
    function: Callable[..., Any],
    args: tuple[Any, ...],
) -> None:
    """Submit the task and copy its outcome to the future; repeat it if its worker died."""
    running = executor.submit(function, *args)

    def end(task: Future[Any]) -> None:
        error = None if task.cancelled() else task.exception()
        died = isinstance(error, WorkerEndedError) and error.kind == "died"
        if died and tries_left > 1 and not future.cancelled():
            with suppress(RuntimeError):  # the executor was shut down: no more tasks
                _try(executor, future, tries_left - 1, function, args)
                return
        if not future.set_running_or_notify_cancel():
            return
        if task.cancelled():
            error = BrokenExecutor("the executor, or its cluster, was stopped")
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(task.result())

    running.add_done_callback(end)
    future.add_done_callback(lambda _: running.cancel())
