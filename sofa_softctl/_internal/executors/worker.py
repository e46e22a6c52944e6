"""A worker process: does one task after the other, and ends with its parent."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable, Sequence
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any


class _Process(SpawnProcess):
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
    Process = _Process


CONTEXT = _Context()


class RemoteTraceback(Exception):
    """The traceback of another process, as the cause of its exception here."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def start_worker(first: Sequence[Callable[[], object]]) -> tuple[SpawnProcess, Connection]:
    """A new worker, and this end of the connection to it.

    Args:
        first: What it calls before its first task.
    """
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(target=_serve, args=(theirs, list(first)), daemon=True)
    process.start()
    theirs.close()
    return process, ours


def _serve(connection: Connection, first: list[Callable[[], object]]) -> None:
    """Say that it is ready; then, receive tasks and send answers.

    A task is (function, arguments, keywords), an answer (result, exception, traceback).
    """
    _end_with_parent()
    for call in first:
        call()
    connection.send(True)
    frozen = False
    while True:
        try:
            message = connection.recv_bytes()
        except EOFError:  # the executor is shut down
            return
        answer: tuple[Any, BaseException | None, str]
        task: Any = None  # a function that this process does not have is an error of the task
        try:
            task = pickle.loads(message)
            answer = task[0](*task[1], **task[2]), None, ""
        except BaseException as error:  # SystemExit too: only the task is to end
            answer = None, error, traceback.format_exc()
        _send(connection, answer)
        del message, task, answer
        gc.collect()  # scenes are cycles with large arrays, whose size Python does not count
        if not frozen:
            gc.freeze()  # modules, mostly: from now on a collection takes 1 ms instead of 80
            frozen = True


def _send(connection: Connection, answer: tuple[Any, BaseException | None, str]) -> None:
    """What cannot be pickled is told in words."""
    try:
        packed = pickle.dumps(answer)
        pickle.loads(packed)  # exceptions with arguments of their own pickle, but do not unpickle
    except Exception as error:
        result, raised, text = answer
        said = f"{type(raised).__name__}: {raised}" if raised else f"its result: {error}"
        packed = pickle.dumps((None, RuntimeError(said), text or traceback.format_exc()))
    connection.send_bytes(packed)


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
