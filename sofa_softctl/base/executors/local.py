"""Worker processes of this computer, of which each may be lost without the others."""

from __future__ import annotations

import os
import platform
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import ForkingPickler
from time import monotonic, sleep
from typing import Any

from sofa_softctl.base.executors.retry import LostTask, WorkerEndedError
from sofa_softctl.base.executors.worker import WHERE, TailFile, result_of, start_worker
from sofa_softctl.base.processes import first_calls

LOOKS_EVERY = 0.2
"""Time between two looks at a worker's memory [s]."""
ANSWERS_WITHIN = 1.0
"""Time for which a worker that is to be killed is asked where it is [s]."""
ENDS_WITHIN = 2.0
"""Time after which an idle worker that does not end is killed [s]."""

STARTS = 3
"""Workers that may die before they are ready, one after the other."""

Task = tuple[Future[Any], Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class LocalExecutor(Executor):
    """Does tasks in worker processes, one at a time in each.

    A worker that dies, or whose task exceeds a limit and which is therefore killed, costs this
    task alone: its Future raises WorkerEndedError, and a new worker takes its place. Unlike with
    ProcessPoolExecutor, all others go on. Workers ignore SIGINT and end with this process.

    Args:
        count: Number of workers, started when there are tasks for them.
        seconds: Longest time of a task [s]; None: any.
        memory: Most resident memory of a worker [bytes]; None: any.
        idle: Time without a task after which a worker ends [s]; None: any.
        first: What each worker calls before its first task; None: `processes.first_calls`.
    """

    def __init__(
        self,
        count: int,
        *,
        seconds: float | None = None,
        memory: float | None = None,
        idle: float | None = None,
        first: Sequence[Callable[[], object]] | None = None,
    ) -> None:
        self.seconds, self.memory, self._idle_time, self._first = seconds, memory, idle, first
        self._dropped: set[Future[Any]] = set()
        self._tasks: deque[Task] = deque()
        self._changed = threading.Condition()
        self.count = count
        self._idle = 0
        self._closed = self._abandoned = False
        self._threads: list[threading.Thread] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """See `Executor.submit`; function, arguments and result are pickled."""
        future: Future[Any] = Future()
        with self._changed:
            if self._closed:
                raise RuntimeError("This executor was shut down.")
            self._tasks.append((future, fn, args, kwargs))
            if self._idle < len(self._tasks) and len(self._threads) < self.count:
                thread = threading.Thread(target=self._attend, daemon=True)
                self._threads.append(thread)
                thread.start()
            self._changed.notify()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See `Executor.shutdown`. With `cancel_futures`, tasks that run are ended, too."""
        with self._changed:
            self._closed = True
            self._abandoned = self._abandoned or cancel_futures
            while cancel_futures and self._tasks:
                self._tasks.popleft()[0].cancel()
            self._changed.notify_all()
        try:
            for thread in list(self._threads) if wait else ():
                thread.join()
        except BaseException:  # Ctrl-C: do not wait for what runs
            self._abandoned = True
            raise

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Wait for all tasks; after an error, end them."""
        self.shutdown(wait=True, cancel_futures=kind is not None)

    def _attend(self) -> None:
        """Give one worker its tasks, and replace it when it is lost."""
        worker: _Worker | None = None
        while (task := self._next()) is not None:
            future, *call = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                message = ForkingPickler.dumps(call)
                worker = _with_task(self, worker, message, future)
                result = worker.answer(self, future)
            except BaseException as error:
                future.set_exception(error)
                if isinstance(error, WorkerEndedError):
                    worker = None
            else:
                future.set_result(result)
            self._dropped.discard(future)
            del future, task
        if worker is not None:
            worker.end()

    def _next(self) -> Task | None:
        """The next task; None: there will be none, or none has come for long."""
        with self._changed:
            self._idle += 1
            try:
                while not self._tasks and not self._closed:
                    if not self._changed.wait(self._idle_time) and not self._tasks:
                        self._threads.remove(threading.current_thread())
                        return None
                return self._tasks.popleft() if self._tasks else None
            finally:
                self._idle -= 1

    def drop(self, future: Future[Any]) -> None:
        """Cancel a task; where it runs already, its process is killed."""
        if not future.cancel() and not future.done():
            self._dropped.add(future)

    def abandoned(self, future: Future[Any] | None = None) -> bool:
        """Whether a task is to be ended although it runs."""
        return self._abandoned or future in self._dropped

    def first_calls(self) -> list[Callable[[], object]]:
        """What a worker calls before its first task."""
        return first_calls() if self._first is None else list(self._first)


def _started(executor: LocalExecutor) -> _Worker:
    """A new worker that is ready. One that dies before has no task to lose: another is tried.

    Raises:
        WorkerEndedError: `STARTS` workers have died.
    """
    for start in range(STARTS):
        worker = _Worker(executor.first_calls())
        try:
            worker.begin(executor)
            return worker
        except WorkerEndedError:
            if start == STARTS - 1 or executor.abandoned():
                raise
    raise AssertionError("not reached")


def _with_task(
    executor: LocalExecutor, worker: _Worker | None, message: Any, future: Future[Any]
) -> _Worker:
    """A worker that has a task. One that dies before, as while idle, has not begun it.

    Raises:
        WorkerEndedError: `STARTS` workers have died, or the task was abandoned.
    """
    for start in range(STARTS):
        if worker is None or not worker.process.is_alive():
            worker = _started(executor)
        try:
            worker.give(message, executor, future)
            return worker
        except WorkerEndedError as error:
            if start == STARTS - 1 or error.kind != "died" or executor.abandoned(future):
                raise
            worker = None
    raise AssertionError("not reached")


class _Worker:
    """One process, and the connection to it."""

    process: SpawnProcess
    connection: Connection

    def __init__(self, first: Sequence[Callable[[], object]]) -> None:
        self._output, self._stack = TailFile(), TailFile()
        self.process, self.connection = start_worker(first, self._output, self._stack)
        self._begun: tuple[datetime, float] | None = None

    def begin(self, executor: LocalExecutor) -> None:
        """Wait until it is ready for tasks.

        Raises:
            WorkerEndedError: The process died.
        """
        with self._alive():
            self._receive(executor)

    def give(self, message: Any, executor: LocalExecutor, future: Future[Any]) -> None:
        """Send a pickled task, and wait until the process has it.

        Raises:
            WorkerEndedError: The process died, and has not begun it; or it was killed.
        """
        self._output.clear()
        self._stack.clear()
        self._begun = datetime.now(UTC), monotonic()
        with self._alive():
            self.connection.send_bytes(message)
            self._receive(executor, None, future)

    def answer(self, executor: LocalExecutor, future: Future[Any]) -> Any:
        """The result of the task.

        Raises:
            WorkerEndedError: The process died, or exceeded a limit and was killed.
            BaseException: Whatever the task raised.
        """
        with self._alive():
            answer = self._receive(executor, executor.seconds, future)
        return result_of(answer)

    @contextmanager
    def _alive(self) -> Iterator[None]:
        """Raise the death of the process in the block as WorkerEndedError."""
        try:
            yield
        except (EOFError, ConnectionError) as reason:
            self.process.join()
            raise WorkerEndedError("died", self._death(), self._lost()) from reason

    def _receive(
        self,
        executor: LocalExecutor,
        seconds: float | None = None,
        future: Future[Any] | None = None,
    ) -> Any:
        """The next message, within a time; None: any."""
        start = monotonic()
        while not wait([self.connection, self.process.sentinel], LOOKS_EVERY):
            if seconds is not None and monotonic() - start > seconds:
                self._kill("time", f"it took longer than {seconds:g} s")
            self._check(executor, future)
        return self.connection.recv()

    def _check(self, executor: LocalExecutor, future: Future[Any] | None) -> None:
        self._output.shrink()
        most = executor.memory
        if most is not None and resident(self.process.pid) > most:
            self._kill("memory", f"its process took more than {most / 1e6:.0f} MB of memory")
        if executor.abandoned(future):
            self._kill("died", "it was abandoned")

    def _kill(self, kind: str, text: str) -> None:
        if kind != "died":
            self._ask_where()
        self.process.kill()
        self.process.join()
        raise WorkerEndedError(kind, text, self._lost())

    def _ask_where(self) -> None:
        """Have the process write its stack."""
        end = monotonic() + ANSWERS_WITHIN
        assert self.process.pid is not None
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, WHERE)
        while not self._stack.text() and monotonic() < end:
            sleep(0.01)
        sleep(0.01)  # it writes line by line

    def _lost(self) -> LostTask | None:
        """What is known of its task, now that it is gone."""
        if self._begun is None:
            return None
        started, begin = self._begun
        return LostTask(
            worker=f"{platform.node()}:{self.process.pid}",
            started=started.isoformat(timespec="milliseconds"),
            seconds=monotonic() - begin,
            output=self._output.text(),
            traceback=self._stack.text(),
        )

    def _death(self) -> str:
        status = self.process.exitcode
        if status is not None and status < 0:
            how = f"was killed by {signal.Signals(-status).name}"
            return f"its process {how}" + (": out of memory?" if status == -9 else "")
        return f"its process ended with status {status}"

    def end(self) -> None:
        """Let it end: it has no task."""
        self.connection.close()
        self.process.join(ENDS_WITHIN)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def resident(pid: int | None) -> int:
    """Resident memory of a process [bytes]; 0 where the system does not say."""
    if sys.platform != "linux" or pid is None:
        return 0
    with suppress(OSError, IndexError, ValueError):
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
