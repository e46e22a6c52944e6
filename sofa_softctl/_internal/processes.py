"""Worker processes, which ignore SIGINT."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import parent_process
from multiprocessing.context import SpawnContext, SpawnProcess


@contextmanager
def workers(count: int) -> Iterator[Executor | None]:
    """An executor with so many processes, which end with the context; None for 0.

    They also end when this process is killed.
    """
    if not count:
        yield None
        return
    with ProcessPoolExecutor(count, _Context(), initializer=_end_with_parent) as executor:
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


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
