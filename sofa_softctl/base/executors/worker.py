"""A worker process that does one task after the other, with a file for what it prints."""

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

LONGEST = 8000
"""Of a text that is kept; of longer ones the end [characters]."""
LARGEST = 1 << 24
"""Size of a file beyond which its beginning is dropped [bytes]."""
_KEPT = 4 * (LONGEST + 1)
"""Bytes that hold so many characters, and a part of one at the start."""


class TailFile:
    """A file without a name, to which processes append, and of which the end is read.

    Sent to a process that is being started, it is the same file there. It goes with the last
    process that has it open.
    """

    def __init__(self, fd: int | None = None) -> None:
        if fd is None:
            with tempfile.TemporaryFile(buffering=0) as file:
                fd = os.dup(file.fileno())
            fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_APPEND)
        self._fd = fd
        weakref.finalize(self, os.close, fd).atexit = False

    def fileno(self) -> int:
        """Its file descriptor."""
        return self._fd

    def text(self) -> str:
        """The last `LONGEST` characters."""
        return self._end().decode(errors="replace")[-LONGEST:]

    def write(self, text: str) -> None:
        """Append a text."""
        os.write(self._fd, text.encode(errors="backslashreplace"))

    def clear(self) -> None:
        """Drop what is in it."""
        os.ftruncate(self._fd, 0)

    def shrink(self) -> None:
        """Drop the beginning of a large file, so that processes that go on do not fill the disk.

        What is written at the same moment comes before what was kept, or is lost.
        """
        if os.fstat(self._fd).st_size > LARGEST:
            end = self._end()
            self.clear()
            os.write(self._fd, end)

    def _end(self) -> bytes:
        return os.pread(self._fd, _KEPT, max(os.fstat(self._fd).st_size - _KEPT, 0))

    def __reduce__(self) -> tuple[Callable[[Any], TailFile], tuple[Any]]:
        return _received, (DupFd(self._fd),)


def _received(fd: Any) -> TailFile:
    return TailFile(fd.detach())


_starting = threading.Lock()


class _Process(SpawnProcess):
    """A process that ignores SIGINT: Ctrl-C would print its traceback.

    Daemonic processes, such as the workers of Dask, may start it too. Python refuses that since
    children of a daemonic process that is killed would stay; these end with their parent.
    """

    @override
    def start(self) -> None:
        own = current_process()._config  # type: ignore[attr-defined]
        with _starting:
            daemonic = own.pop("daemon", None)
            try:
                self._start()
            finally:
                if daemonic is not None:
                    own["daemon"] = daemonic

    def _start(self) -> None:
        """Start it; a blocked signal is inherited."""
        if not hasattr(signal, "pthread_sigmask"):  # Windows
            super().start()
            return
        resource_tracker.ensure_running()  # its own start, in `start`, would unblock the signal
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


Answer = tuple[Any, BaseException | None, str]
"""Of a task: result, exception, traceback."""


WHERE = signal.SIGUSR1
"""Signal at which a worker writes where its task is, also when it is in C."""
_output: TailFile | None = None
"""File of this worker; None: this is none."""


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
    """A new worker, and this end of the connection to it.

    Args:
        first: What it calls before its first task.
        output: Its `output_file`.
        stack: Gets the stack of Python at a fatal signal, such as SIGSEGV, and at `WHERE`.
    """
    ours, theirs = CONTEXT.Pipe()
    args = (theirs, list(first), output, stack)
    process = CONTEXT.Process(target=_serve, args=args, daemon=True)
    process.start()
    theirs.close()
    return process, ours


def output_file() -> TailFile:
    """Where a task may put what it prints, for its parent; a new file where this is no worker."""
    return _output or TailFile()


def _serve(
    connection: Connection,
    first: list[Callable[[], object]],
    output: TailFile,
    stack: TailFile,
) -> None:
    """Say that it is ready; then, receive tasks, say so, and send answers.

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
    own, frozen = os.getpid(), False
    while True:
        try:
            message = connection.recv_bytes()
        except EOFError:  # the executor is shut down
            return
        connection.send(True)
        answer = _done(message)
        if os.getpid() != own:  # a child that the task has forked
            os._exit(0)
        connection.send_bytes(packed_answer(answer))
        del message
        gc.collect()  # scenes are cycles with large arrays, whose size Python does not count
        if not frozen:
            gc.freeze()  # modules, mostly: from now on a collection takes 1 ms instead of 80
            frozen = True


def _done(message: bytes) -> Answer:
    """What a task gives; a function that this process does not have is an error of the task."""

    def call() -> Any:
        function, args, kwargs = pickle.loads(message)
        return function(*args, **kwargs)

    return answer_of(call)


def answer_of(call: Callable[[], Any]) -> Answer:
    """What a call gives or raises."""
    try:
        return call(), None, ""
    except BaseException as error:  # SystemExit too: only the task is to end
        return None, error, traceback.format_exc()


def packed_answer(
    answer: Answer,
    dumps: Callable[[Any], bytes] = pickle.dumps,
    loads: Callable[[bytes], Any] = pickle.loads,
) -> bytes:
    """An answer, pickled; what cannot be pickled is put in words."""
    try:
        packed = dumps(answer)
        loads(packed)  # exceptions with arguments of their own pickle, but do not unpickle
    except Exception as error:
        result, raised, text = answer
        said = f"{type(raised).__name__}: {raised}" if raised else f"its result: {error}"
        packed = dumps((None, RuntimeError(said), text or traceback.format_exc()))
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
