"""Tasks whose worker is gone: what their Future raises, and doing them again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from sofa_softctl.errors import WorkerError


@dataclass(frozen=True)
class LostTask:
    """What is known of a task whose worker is gone."""

    worker: str
    """Where it was done, HOST:PID."""
    started: str
    """When it was begun, in ISO format."""
    seconds: float
    """Time until its end [s]."""
    output: str
    """The end of what it printed, where it keeps that in `worker.output_file`."""
    traceback: str
    """Where Python was at the end; empty where the process could not say, as after SIGKILL."""


class WorkerEndedError(BrokenExecutor):
    """A worker process died with a task, or was ended since the task exceeded a limit.

    Other tasks are not concerned: another worker takes its place.
    """

    def __init__(self, kind: str, text: str, task: LostTask | None = None) -> None:
        super().__init__(text)
        self.kind = kind
        """'died', 'time' or 'memory'."""
        self.task = task
        """The task; None: nothing is known of it."""

    def __reduce__(self) -> tuple[type[WorkerEndedError], tuple[str, str, LostTask | None]]:
        """It is pickled on its way from a cluster."""
        return type(self), (self.kind, str(self), self.task)


T = TypeVar("T")

TRIES = 2
"""Workers that a task may cost before it counts as lost."""
GOES_ON = (
    "All that was measured is in the file: the same command goes on with it, perhaps with fewer "
    "workers."
)
"""For `lost_workers`, where results are written as they come."""


def submit_again(executor: Executor, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
    """Submit a task that is done once more if its worker died, e.g. for want of memory.

    For tasks whose result depends on their arguments alone.

    Returns:
        Its future. It raises WorkerEndedError if another worker died with it, too, or the task
        exceeded a limit of the executor, and BrokenExecutor if the executor is gone.
    """
    future: Future[Any] = Future()
    _try(executor, future, TRIES, function, args)
    return future


def in_order(
    executor: Executor | None, function: Callable[..., T], /, *arguments: Iterable[Any]
) -> Iterator[T]:
    """Results of a function for each set of arguments, in their order, like `map`.

    Args:
        executor: Does several at a time, by `submit_again`; None: here, one after the other.
        function: The task.
        arguments: An iterable for each argument, all of the same length.

    Raises:
        Exception: What a task raises; those that wait are then cancelled.
    """
    yield from _results(executor, function, arguments, list)


def as_done(
    executor: Executor | None, function: Callable[..., T], /, *arguments: Iterable[Any]
) -> Iterator[T]:
    """The same as they come: a slow task holds back no others."""
    yield from _results(executor, function, arguments, as_completed)


def _results(
    executor: Executor | None,
    function: Callable[..., T],
    arguments: Sequence[Iterable[Any]],
    order: Callable[[Iterable[Future[T]]], Iterable[Future[T]]],
) -> Iterator[T]:
    if executor is None:
        yield from map(function, *arguments)
        return
    futures = [submit_again(executor, function, *each) for each in zip(*arguments, strict=True)]
    try:
        for future in order(futures):
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


@contextmanager
def lost_workers(kept: str) -> Iterator[None]:
    """Raise the loss of workers in the block as WorkerError.

    Args:
        kept: What is left of the work, and how to go on.
    """
    try:
        yield
    except BrokenExecutor as error:
        raise WorkerError(
            f"A worker process ended before it had answered: {error}. {kept}"
        ) from error


def _try(
    executor: Executor,
    future: Future[Any],
    tries: int,
    function: Callable[..., Any],
    args: tuple[Any, ...],
) -> None:
    """Submit the task; its end is that of the future, unless there are tries left."""
    running = executor.submit(function, *args)

    def end(done: Future[Any]) -> None:
        error = None if done.cancelled() else done.exception()
        died = isinstance(error, WorkerEndedError) and error.kind == "died"
        if died and tries > 1 and not future.cancelled():
            with suppress(RuntimeError):  # the executor was shut down: no more tasks
                _try(executor, future, tries - 1, function, args)
                return
        if not future.set_running_or_notify_cancel():
            return
        if done.cancelled():
            error = BrokenExecutor("the executor, or its cluster, was stopped")
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(done.result())

    running.add_done_callback(end)
    future.add_done_callback(lambda _: running.cancel())
