"""Tasks that are done again when a worker died with them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import Any

from sofa_softctl._internal.executors.ended import WorkerEndedError

TRIES = 2
"""Workers that a task may cost before it counts as lost."""


def submit_again(executor: Executor, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
    """Submit a task that is done once more if its worker died, e.g. for want of memory.

    For tasks whose result depends on their arguments alone.

    Returns:
        Its future. It raises WorkerEndedError if another worker died with it, too, or the task
        exceeded a limit of the executor.
    """
    future: Future[Any] = Future()
    _try(executor, future, TRIES, function, args)
    return future


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
        if done.cancelled():
            future.cancel()
        if not future.set_running_or_notify_cancel():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(done.result())

    running.add_done_callback(end)
    future.add_done_callback(lambda _: running.cancel())
