"""Tasks on the workers of a Dask cluster, in the interface of `concurrent.futures`."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import (
    CancelledError,
    Executor,
    Future,
    InvalidStateError,
    ThreadPoolExecutor,
    wait,
)
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

from sofa_softctl.base.executors.carried import digests
from sofa_softctl.base.executors.cluster_client import connect_client, silence_dask
from sofa_softctl.base.executors.cluster_members import Members
from sofa_softctl.base.executors.cluster_worker import RemoteTask, WorkerSetup, release
from sofa_softctl.base.executors.packing import dump_with_paths, load_with_paths
from sofa_softctl.base.executors.retry import WorkerEndedError
from sofa_softctl.base.executors.worker import result_of
from sofa_softctl.base.files_read import add_sibling_modules
from sofa_softctl.base.processes import first_calls, first_files
from sofa_softctl.base.versions import blas_kernels
from sofa_softctl.errors import ClusterError


@dataclass(frozen=True)
class ClusterSettings:
    """Intervals of a `ClusterExecutor`."""

    members_interval: float = 1.0
    """Time between two requests for the list of workers [s]; longer for many workers."""
    members_per_interval: int = 100
    """Number of workers beyond which the interval grows; a list of these takes some 10 ms."""
    close_timeout: float = 5.0
    """Longest time to wait for the end of the connection [s]."""


SETTINGS = ClusterSettings()


def print_error(text: str) -> None:
    """Print on standard error."""
    print(text, file=sys.stderr, flush=True)


class ClusterExecutor(Executor):
    """Executor of tasks on the workers of a Dask cluster, in a `LocalExecutor` of each worker.

    Results, exceptions and lost processes arrive as from a LocalExecutor. If a Dask worker dies,
    other workers repeat its tasks. If the cluster itself is gone, all tasks are cancelled,
    including later ones.

    Workers that have other versions of this package, Python, or `versions.PACKAGES` are not used.

    Args:
        address: Address of the scheduler, such as 'tcp://host:8786'.
        seconds: Longest time of a task [s], or None.
        memory: Largest resident memory of its process [bytes], or None.
        files: Files that tasks read, sent to workers that do not see them, as are plugin files and
            modules next to those. Names of these files in tasks and results are translated.
        note: Called with messages for the user, such as a lack of workers.

    Raises:
        ClusterError: The cluster is not reached, or a worker has other versions or lacks files that
            are too large to be sent.
    """

    def __init__(
        self,
        address: str,
        *,
        seconds: float | None = None,
        memory: float | None = None,
        files: Iterable[str] = (),
        note: Callable[[str], None] = print_error,
    ) -> None:
        self._address, self._note = address, note
        self._files = digests({*files, *add_sibling_modules(first_files())})
        self._lock = threading.RLock()
        self._sent: dict[Future[Any], tuple[Any, bytes]] = {}
        self._is_closed = self._is_lost = False
        self._reported_kernels: set[str] = set()
        self._stop = threading.Event()
        self._ends = ExitStack()
        try:
            self._client = self._open(address)
            self._members = Members(self._client, self._setup(seconds, memory))
            self._collectors = ThreadPoolExecutor(4, thread_name_prefix="cluster")
            self._ends.callback(self._collectors.shutdown, wait=False)
            self._wait_for_workers()
        except BaseException:
            self._ends.close()
            raise
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    @property
    def count(self) -> int:
        """Number of simultaneous tasks; it changes as workers join and leave."""
        return self._members.count

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a task; `fn` must be importable on the workers."""
        future: Future[Any] = Future()
        task = dump_with_paths((fn, args, kwargs), self._files.keys())
        with self._lock:
            if self._is_closed:
                raise RuntimeError("This executor was shut down.")
            if not self._is_lost:
                try:
                    self._send(future, task)
                except Exception:  # its connection was closed
                    self._cancel_all()
            if self._is_lost:
                future.cancel()
        future.add_done_callback(self._release_task)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Shut down; without `wait`, unfinished tasks are cancelled."""
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
        if was_closed:
            return
        try:
            if wait and not cancel_futures:
                self._wait_for_tasks()
        finally:
            self._close()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Wait for all tasks; after an error, cancel them."""
        self.shutdown(wait=True, cancel_futures=kind is not None)

    def _open(self, address: str) -> Any:
        client = connect_client(address)
        self._ends.enter_context(silence_dask())
        self._ends.callback(client.close, timeout=SETTINGS.close_timeout)
        return client

    def _setup(self, seconds: float | None, memory: float | None) -> WorkerSetup:
        """Return the data that workers need before their first task."""
        files = self._files
        search = [path for path in sys.path if any(f.startswith(path + os.sep) for f in files)]
        return WorkerSetup(
            name=f"softctl-{uuid.uuid4().hex}",
            files=files,
            folder=os.getcwd(),
            search=tuple(os.path.realpath(path) for path in search if path),
            first=dump_with_paths(first_calls(), files.keys()),
            seconds=seconds,
            memory=memory,
        )

    def _wait_for_workers(self) -> None:
        """Wait until a worker is ready.

        Raises:
            ClusterError: A worker cannot be used, or the cluster is gone.
        """
        is_announced = False
        while not self.count:
            try:
                self._members.update()
            except OSError as error:
                raise ClusterError(f"The cluster at '{self._address}' is gone.") from error
            if self._members.refused:
                raise ClusterError("\n".join(self._members.refused.values()))
            if not self.count and not is_announced:
                self._note(f"The cluster at '{self._address}' has no workers yet: waiting.")
                is_announced = True
            self._stop.wait(0.0 if self.count else SETTINGS.members_interval / 5)
        self._report_kernels()

    def _send(self, future: Future[Any], task: bytes) -> None:
        """Submit a task to the scheduler; its result goes to the future."""
        name = self._members.setup.name
        key = f"softctl-{uuid.uuid4().hex}"
        # The scheduler unpickles submitted objects: bytes do not need this package there.
        call = pickle.dumps(RemoteTask(name, task))
        remote = self._client.submit(pickle.loads, call, key=key, pure=False, resources={name: 1})
        self._sent[future] = remote, task
        remote.add_done_callback(lambda remote: self._collect_later(future, remote))

    def _collect_later(self, future: Future[Any], remote: Any) -> None:
        """Collect a result in a separate thread: Dask has only one, and recomputes lost results."""
        with suppress(RuntimeError):  # this executor is closed
            self._collectors.submit(self._collect, future, remote)

    def _collect(self, future: Future[Any], remote: Any) -> None:
        """Set the result of a future to the result of its task."""
        from distributed.scheduler import KilledWorker

        result: Any = None
        error: BaseException | None = None
        try:
            answer = remote.result()
        except (CancelledError, OSError):  # the scheduler's end, before or while it answers
            if self._is_current(future, remote):
                self._cancel_all()
            return
        except KilledWorker:
            text = "the Dask workers that had it died, one after the other"
            error = WorkerEndedError("died", text)
        except Exception as raised:
            error = ClusterError(f"Dask failed ({type(raised).__name__}: {raised}).")
            error.__cause__ = raised
        else:
            try:
                result = result_of(load_with_paths(answer))
            except BaseException as raised:
                error = raised
        with suppress(InvalidStateError, RuntimeError):  # cancelled in the meantime
            if self._is_current(future, remote) and future.set_running_or_notify_cancel():
                future.set_exception(error) if error else future.set_result(result)

    def _is_current(self, future: Future[Any], remote: Any) -> bool:
        with self._lock:
            return self._sent.get(future, (None,))[0] is remote

    def _release_task(self, future: Future[Any]) -> None:
        """Release the task of a future that is done or cancelled."""
        if future.cancelled():
            with suppress(RuntimeError):  # it is notified already
                future.set_running_or_notify_cancel()  # for those who wait for it
        with self._lock:
            remote, _ = self._sent.pop(future, (None, b""))
        if remote is not None and not self._is_lost:
            with suppress(Exception):
                remote.cancel() if future.cancelled() else remote.release()

    def _watch(self) -> None:
        """Prepare workers that join, and notice the end of the cluster."""
        while not self._stop.wait(self._pause()) and not self._is_lost:
            count_before, refused_before = self.count, set(self._members.refused)
            try:
                has_changed = self._members.update()
                if has_changed and self.count:
                    self._send_stuck()
            except Exception:
                if not self._stop.is_set():
                    self._cancel_all()
                return
            for name, reason in self._members.refused.items():
                if name not in refused_before:
                    self._note(f"Not used: {reason}")
            self._report_kernels()
            if count_before and not self.count:
                self._note(f"The cluster at '{self._address}' has lost its workers: waiting.")

    def _report_kernels(self) -> None:
        """Report workers with other processors, once for each kind."""
        own_kernels = blas_kernels()
        for kernels in self._members.kernels - {own_kernels} - self._reported_kernels:
            self._reported_kernels.add(kernels)
            self._note(
                f"BLAS has the kernels of {kernels or 'another processor'} on workers, and of "
                f"{own_kernels or 'another'} here: last digits of results may differ."
            )

    def _pause(self) -> float:
        return SETTINGS.members_interval * max(
            1.0, self._members.worker_count / SETTINGS.members_per_interval
        )

    def _send_stuck(self) -> None:
        """Submit tasks that no worker has again.

        The scheduler does not reconsider them when a worker gets ready that had joined before.
        """
        assigned = {key for keys in self._client.processing().values() for key in keys}
        with self._lock:
            for future, (remote, task) in list(self._sent.items()):
                if remote.status == "pending" and remote.key not in assigned:
                    self._send(future, task)
                    remote.cancel()

    def _cancel_all(self) -> None:
        """Cancel all tasks: the cluster is gone."""
        with self._lock:
            self._is_lost = True
            futures = list(self._sent)
        for future in futures:
            future.cancel()

    def _wait_for_tasks(self) -> None:
        while futures := list(self._sent):
            wait(futures, SETTINGS.members_interval)

    def _close(self) -> None:
        """Cancel the remaining tasks, end the processes on the workers, and disconnect."""
        self._stop.set()
        for future in list(self._sent):
            future.cancel()
        if not self._is_lost:
            with suppress(Exception):
                self._client.run(release, self._members.setup.name, on_error="ignore")
        self._ends.close()
