"""A worker process that runs one task after the other, with a file for its output."""

from __future__ import annotations

import faulthandler
import fcntl
import gc
import os
import pickle
import signal
import tempfile
import threading
import traceback
import weakref
from collections.abc import Callable, Sequence
from multiprocessing import current_process, parent_process, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.reduction import DupFd
from typing import Any

from typing_extensions import override

from sofa_softctl.base.executors.by_value import without_missing_main

LONGEST = 8000
"""Longest text that is returned; longer ones lose their beginning [characters]."""
FILE_SIZE_MAX = 1 << 24
"""Size of a file beyond which its beginning is dropped [bytes]."""
_TAIL_SIZE = 4 * (LONGEST + 1)
"""Bytes that hold this number of characters, and a part of one at the start."""


class TailFile:
    """A file without a name, to which processes append; only its end is read.

    It can be passed to a new process. It disappears with the last process that has it open.
    """

    def __init__(self, fd: int | None = None) -> None:
        if fd is None:
            with tempfile.TemporaryFile(buffering=0) as file:
                fd = os.dup(file.fileno())
            fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_APPEND)
        self._fd = fd
        weakref.finalize(self, os.close, fd).atexit = False

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._fd

    def text(self) -> str:
        """Return the last `LONGEST` characters."""
        return self._end().decode(errors="replace")[-LONGEST:]

    def write(self, text: str) -> None:
        """Append a text."""
        os.write(self._fd, text.encode(errors="backslashreplace"))

    def clear(self) -> None:
        """Delete the content."""
        os.ftruncate(self._fd, 0)

    def shrink(self) -> None:
        """Delete the beginning of a large file, so that long runs do not fill the disk.

        Text written at the same moment comes before the remaining text, or is lost.
        """
        if os.fstat(self._fd).st_size > FILE_SIZE_MAX:
            end = self._end()
            self.clear()
            os.write(self._fd, end)

    def _end(self) -> bytes:
        return os.pread(self._fd, _TAIL_SIZE, max(os.fstat(self._fd).st_size - _TAIL_SIZE, 0))

    def __reduce__(self) -> tuple[Callable[[Any], TailFile], tuple[Any]]:
        return _from_descriptor, (DupFd(self._fd),)


def _from_descriptor(fd: Any) -> TailFile:
    return TailFile(fd.detach())


_starting = threading.Lock()


class _Process(SpawnProcess):
    """A process that ignores SIGINT: Ctrl-C would print its traceback.

    Daemonic processes, such as the workers of Dask, may start it too. Python refuses that since
    children of a daemonic process that is killed would stay; these end with their parent.
    """

    @override
    def start(self) -> None:
        config = current_process()._config  # type: ignore[attr-defined]
        with _starting:
            daemon = config.pop("daemon", None)
            try:
                self._start()
            finally:
                if daemon is not None:
                    config["daemon"] = daemon

    def _start(self) -> None:
        """Start the process with SIGINT blocked, which it inherits."""
        if not hasattr(signal, "pthread_sigmask"):  # Windows
            super().start()
            return
        resource_tracker.ensure_running()  # its own start, in `start`, would unblock the signal
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            with without_missing_main():
                super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


Answer = tuple[Any, BaseException | None, str]
"""Answer of a task: result, exception, traceback."""


WHERE = signal.SIGUSR1
"""Signal at which a worker writes its stack, also while it runs compiled code."""
_output: TailFile | None = None
"""Output file of this worker; None in other processes."""


class _Context(SpawnContext):
    Process = _Process


CONTEXT = _Context()


class RemoteTraceback(Exception):
    """The traceback of another process, as the cause of its exception here."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def start_worker(
    first: Sequence[Callable[[], object]], output: TailFile, stack: TailFile
) -> tuple[SpawnProcess, Connection]:
    """Start a worker; return its process and this end of the connection to it.

    Args:
        first: Functions that the worker calls before its first task.
        output: Output file of the worker.
        stack: Receives the stack of Python at a fatal signal, such as SIGSEGV, and at `WHERE`.
    """
    ours, theirs = CONTEXT.Pipe()
    args = (theirs, list(first), output, stack)
    process = CONTEXT.Process(target=_serve, args=args, daemon=True)
    process.start()
    theirs.close()
    return process, ours


def output_file() -> TailFile:
    """Return the file for a task's output, for its parent; a new file outside of a worker."""
    return _output or TailFile()


def _serve(
    connection: Connection,
    first: list[Callable[[], object]],
    output: TailFile,
    stack: TailFile,
) -> None:
    """Send True when ready; then receive tasks, confirm each, and send answers.

    A task is (function, arguments, keywords).
    """
    global _output
    _end_with_parent()
    _output = output
    faulthandler.enable(stack.fileno(), all_threads=False)
    faulthandler.register(WHERE, stack.fileno(), all_threads=False)
    for call in first:
        call()
    connection.send(True)
    process_id, is_frozen = os.getpid(), False
    while True:
        try:
            message = connection.recv_bytes()
        except EOFError:  # the executor is shut down
            return
        connection.send(True)
        answer = _run(message)
        if os.getpid() != process_id:  # a child that the task has forked
            os._exit(0)
        connection.send_bytes(packed_answer(answer))
        del message
        gc.collect()  # scenes are cycles with large arrays, whose size Python does not count
        if not is_frozen:
            gc.freeze()  # modules, mostly: from now on a collection takes 1 ms instead of 80
            is_frozen = True


def _run(message: bytes) -> Answer:
    """Run a task; a function that this process cannot import is an error of the task."""

    def call() -> Any:
        function, args, kwargs = pickle.loads(message)
        return function(*args, **kwargs)

    return answer_of(call)


def answer_of(call: Callable[[], Any]) -> Answer:
    """Call a function; return its result or its exception with traceback."""
    try:
        return call(), None, ""
    except BaseException as error:  # SystemExit too: only the task is to end
        return None, error, traceback.format_exc()


def packed_answer(
    answer: Answer,
    dumps: Callable[[Any], bytes] = pickle.dumps,
    loads: Callable[[bytes], Any] = pickle.loads,
) -> bytes:
    """Pickle an answer; a text replaces what cannot be pickled."""
    try:
        packed = dumps(answer)
        loads(packed)  # exceptions with arguments of their own pickle, but do not unpickle
    except Exception as error:
        result, raised, text = answer
        description = f"{type(raised).__name__}: {raised}" if raised else f"its result: {error}"
        packed = dumps((None, RuntimeError(description), text or traceback.format_exc()))
    return packed


def result_of(answer: Answer) -> Any:
    """The result in an answer; raises its exception, with the remote traceback as the cause."""
    result, error, text = answer
    if error is not None:
        if text:
            error.__cause__ = error.__cause__ or RemoteTraceback(text)
        raise error
    return result


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
