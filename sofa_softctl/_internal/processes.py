"""Worker processes, which ignore SIGINT and have the backend and plugins of their parent."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import parent_process
from multiprocessing.context import SpawnContext, SpawnProcess

_first: dict[str, Callable[[], object]] = {}
"""What each worker calls first, in this order, by a name."""


def call_first_in_workers(name: str, call: Callable[[], object]) -> None:
    """Make workers that are started from now on call this first; once for each name.

    Args:
        name: What it does; a later call of the same name takes its place.
        call: A picklable function.
    """
    _first[name] = call


def first_calls(*, leave_out: str = "") -> list[Callable[[], object]]:
    """What a process that is started in another way should call first, but for one name."""
    return [call for name, call in _first.items() if name != leave_out]


@contextmanager
def workers(count: int) -> Iterator[Executor | None]:
    """An executor with so many processes, which end with the context; None for 0.

    They also end when this process is killed.
    """
    if not count:
        yield None
        return
    with ProcessPoolExecutor(
        count, _Context(), initializer=_begin, initargs=(first_calls(),)
    ) as executor:
        yield executor


class _Worker(SpawnProcess):
    """A process that ignores SIGINT: Ctrl-C would print its traceback."""

    def start(self) -> None:
        """See `Process`; a blocked signal is inherited."""
        if not hasattr(signal, "pthread_sigmask"):  # Windows
            super().start()
            return
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Context(SpawnContext):
    Process = _Worker


def _begin(first: list[Callable[[], object]]) -> None:
    _end_with_parent()
    for call in first:
        call()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
