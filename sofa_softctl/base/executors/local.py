"""Worker processes of this computer; if one is lost, the others continue."""

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
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import ForkingPickler
from time import monotonic, sleep
from typing import Any

from sofa_softctl.base.executors.retry import LostTask, WorkerEndedError
from sofa_softctl.base.executors.worker import WHERE, TailFile, result_of, start_worker
from sofa_softctl.base.processes import first_calls


@dataclass(frozen=True)
class LocalSettings:
    """Intervals and limits of a `LocalExecutor`."""

    check_interval: float = 0.2
    """Interval of checks of a worker's memory and time [s]."""
    stack_timeout: float = 1.0
    """Longest time to wait for the stack of a worker before it is killed [s]."""
    exit_timeout: float = 2.0
    """Time after which an idle worker that does not end is killed [s]."""
    starts_max: int = 3
    """Number of starts of a worker; it may die before it is ready."""


SETTINGS = LocalSettings()

Task = tuple[Future[Any], Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class LocalExecutor(Executor):
    """Executor of tasks in worker processes, one at a time in each.

    A worker that dies, or is killed because its task exceeds a limit, costs only this task: its
    Future raises WorkerEndedError, and a new worker is started. Unlike with ProcessPoolExecutor,
    all others continue. Workers ignore SIGINT and end with this process.

    Args:
        count: Number of workers, started when there are tasks for them.
        seconds: Longest time of a task [s], or None.
        memory: Largest resident memory of a worker [bytes], or None.
        idle: Time without a task after which a worker ends [s], or None.
        first: Functions that each worker calls before its first task; by default
            `processes.first_calls`.
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
        self._is_closed = self._is_abandoned = False
        self._threads: list[threading.Thread] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a task; function, arguments and result are pickled."""
        future: Future[Any] = Future()
        with self._changed:
            if self._is_closed:
                raise RuntimeError("This executor was shut down.")
            self._tasks.append((future, fn, args, kwargs))
            if self._idle < len(self._tasks) and len(self._threads) < self.count:
                thread = threading.Thread(target=self._serve_worker, daemon=True)
                self._threads.append(thread)
                thread.start()
            self._changed.notify()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Shut down; with `cancel_futures`, running tasks are killed, too."""
        with self._changed:
            self._is_closed = True
            self._is_abandoned = self._is_abandoned or cancel_futures
            while cancel_futures and self._tasks:
                self._tasks.popleft()[0].cancel()
            self._changed.notify_all()
        try:
            for thread in list(self._threads) if wait else ():
                thread.join()
        except BaseException:  # Ctrl-C: do not wait for what runs
            self._is_abandoned = True
            raise

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Wait for all tasks; after an error, kill them."""
        self.shutdown(wait=True, cancel_futures=kind is not None)

    def _serve_worker(self) -> None:
        """Send tasks to one worker, and replace it when it is lost."""
        worker: _Worker | None = None
        while (task := self._next_task()) is not None:
            future, *call = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                message = ForkingPickler.dumps(call)
                worker = _assign(self, worker, message, future)
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

    def _next_task(self) -> Task | None:
        """Wait for the next task; return None after shutdown, or after the idle time."""
        with self._changed:
            self._idle += 1
            try:
                while not self._tasks and not self._is_closed:
                    if not self._changed.wait(self._idle_time) and not self._tasks:
                        self._threads.remove(threading.current_thread())
                        return None
                return self._tasks.popleft() if self._tasks else None
            finally:
                self._idle -= 1

    def drop(self, future: Future[Any]) -> None:
        """Cancel a task; if it runs already, its process is killed."""
        if not future.cancel() and not future.done():
            self._dropped.add(future)

    def should_kill(self, future: Future[Any] | None = None) -> bool:
        """Return True if a running task should be killed."""
        return self._is_abandoned or future in self._dropped

    def first_calls(self) -> list[Callable[[], object]]:
        """Return the functions that a worker calls before its first task."""
        return first_calls() if self._first is None else list(self._first)


def _start(executor: LocalExecutor) -> _Worker:
    """Start a worker and wait until it is ready; if it dies before, start another one.

    Raises:
        WorkerEndedError: `LocalSettings.starts_max` workers have died.
    """
    for start in range(SETTINGS.starts_max):
        worker = _Worker(executor.first_calls())
        try:
            worker.begin(executor)
            return worker
        except WorkerEndedError:
            if start == SETTINGS.starts_max - 1 or executor.should_kill():
                raise
    raise AssertionError("not reached")


def _assign(
    executor: LocalExecutor, worker: _Worker | None, message: Any, future: Future[Any]
) -> _Worker:
    """Send a task to a worker; if it had died while idle, start another one.

    Raises:
        WorkerEndedError: `LocalSettings.starts_max` workers have died, or the task was abandoned.
    """
    for start in range(SETTINGS.starts_max):
        if worker is None or not worker.process.is_alive():
            worker = _start(executor)
        try:
            worker.send(message, executor, future)
            return worker
        except WorkerEndedError as error:
            if (
                start == SETTINGS.starts_max - 1
                or error.kind != "died"
                or executor.should_kill(future)
            ):
                raise
            worker = None
    raise AssertionError("not reached")


class _Worker:
    """A process and the connection to it."""

    process: SpawnProcess
    connection: Connection

    def __init__(self, first: Sequence[Callable[[], object]]) -> None:
        self._output, self._stack = TailFile(), TailFile()
        self.process, self.connection = start_worker(first, self._output, self._stack)
        self._begun: tuple[datetime, float] | None = None

    def begin(self, executor: LocalExecutor) -> None:
        """Wait until the process is ready for tasks.

        Raises:
            WorkerEndedError: The process died.
        """
        with self._alive():
            self._receive(executor)

    def send(self, message: Any, executor: LocalExecutor, future: Future[Any]) -> None:
        """Send a pickled task, and wait until the process has received it.

        Raises:
            WorkerEndedError: The process died before it began the task, or it was killed.
        """
        self._output.clear()
        self._stack.clear()
        self._begun = datetime.now(UTC), monotonic()
        with self._alive():
            self.connection.send_bytes(message)
            self._receive(executor, None, future)

    def answer(self, executor: LocalExecutor, future: Future[Any]) -> Any:
        """Wait for the result of the task.

        Raises:
            WorkerEndedError: The process died, or exceeded a limit and was killed.
            BaseException: Raised by the task.
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
            raise WorkerEndedError("died", self._death(), self._lost_task()) from reason

    def _receive(
        self,
        executor: LocalExecutor,
        seconds: float | None = None,
        future: Future[Any] | None = None,
    ) -> Any:
        """Receive the next message, within a time if given."""
        start = monotonic()
        while not wait([self.connection, self.process.sentinel], SETTINGS.check_interval):
            if seconds is not None and monotonic() - start > seconds:
                self._kill("time", f"it took longer than {seconds:g} s")
            self._check(executor, future)
        return self.connection.recv()

    def _check(self, executor: LocalExecutor, future: Future[Any] | None) -> None:
        self._output.shrink()
        memory_max = executor.memory
        if memory_max is not None and resident(self.process.pid) > memory_max:
            self._kill("memory", f"its process took more than {memory_max / 1e6:.0f} MB of memory")
        if executor.should_kill(future):
            self._kill("died", "it was abandoned")

    def _kill(self, kind: str, text: str) -> None:
        if kind != "died":
            self._ask_where()
        self.process.kill()
        self.process.join()
        raise WorkerEndedError(kind, text, self._lost_task())

    def _ask_where(self) -> None:
        """Make the process write its stack."""
        end = monotonic() + SETTINGS.stack_timeout
        assert self.process.pid is not None
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, WHERE)
        while not self._stack.text() and monotonic() < end:
            sleep(0.01)
        sleep(0.01)  # it writes line by line

    def _lost_task(self) -> LostTask | None:
        """Return the known facts about the lost task, or None without a task."""
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
        """End the idle process."""
        self.connection.close()
        self.process.join(SETTINGS.exit_timeout)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def resident(pid: int | None) -> int:
    """Return the resident memory of a process [bytes], or 0 if the system does not report it."""
    if sys.platform != "linux" or pid is None:
        return 0
    with suppress(OSError, IndexError, ValueError):
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
