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
from typing import Any

from sofa_softctl.base.executors.carried import digests
from sofa_softctl.base.executors.cluster_client import connected, quiet
from sofa_softctl.base.executors.cluster_members import Members
from sofa_softctl.base.executors.cluster_worker import Call, Setup, release
from sofa_softctl.base.executors.packing import packed, unpacked
from sofa_softctl.base.executors.retry import WorkerEndedError
from sofa_softctl.base.executors.worker import result_of
from sofa_softctl.base.files_read import with_modules_beside
from sofa_softctl.base.processes import first_calls, first_files
from sofa_softctl.base.versions import blas_kernels
from sofa_softctl.errors import ClusterError

LOOKS_EVERY = 1.0
"""Time between two looks at the workers of the cluster [s]; longer where there are many."""
MANY = 100
"""Workers of which a look takes the scheduler some 10 ms."""
ENDS_WITHIN = 5.0
"""Time after which the end of a connection is not waited for any longer [s]."""


def say(text: str) -> None:
    """Print on standard error."""
    print(text, file=sys.stderr, flush=True)


class ClusterExecutor(Executor):
    """Does tasks on the workers of a Dask cluster, each in a `LocalExecutor` of that worker.

    Results, exceptions and lost processes arrive as from a LocalExecutor. A Dask worker that dies
    costs nothing: its tasks are done by others. Where the cluster itself is gone, all tasks are
    cancelled, also those that are submitted later.

    Workers that have other versions of this package, Python, or `versions.PACKAGES` do no task.

    Args:
        address: Of the scheduler, such as 'tcp://host:8786'.
        seconds: Longest time of a task [s]; None: any.
        memory: Most resident memory of its process [bytes]; None: any.
        files: Files that tasks read, sent to workers that do not see them, as are plugin files and
            modules beside those. Where the name of one is in what tasks or workers get, it is there
            the name on the worker.
        note: Called with what a user should know, as that there are no workers.

    Raises:
        ClusterError: It is not reached, or a worker has other versions or lacks files that are too
            large to be sent.
    """

    def __init__(
        self,
        address: str,
        *,
        seconds: float | None = None,
        memory: float | None = None,
        files: Iterable[str] = (),
        note: Callable[[str], None] = say,
    ) -> None:
        self._address, self._note = address, note
        self._files = digests({*files, *with_modules_beside(first_files())})
        self._lock = threading.RLock()
        self._sent: dict[Future[Any], tuple[Any, bytes]] = {}
        self._closed = self._lost = False
        self._said_kernels: set[str] = set()
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
        """Tasks that can be done at once; it changes as workers come and go."""
        return self._members.count

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """See `Executor.submit`; `fn` must be importable on the workers."""
        future: Future[Any] = Future()
        task = packed((fn, args, kwargs), self._files.keys())
        with self._lock:
            if self._closed:
                raise RuntimeError("This executor was shut down.")
            if not self._lost:
                try:
                    self._send(future, task)
                except Exception:  # its connection was closed
                    self._lose()
            if self._lost:
                future.cancel()
        future.add_done_callback(self._forget)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See `Executor.shutdown`. Without `wait`, tasks that are not done are cancelled."""
        with self._lock:
            closed, self._closed = self._closed, True
        if closed:
            return
        try:
            if wait and not cancel_futures:
                self._wait_for_tasks()
        finally:
            self._close()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Wait for all tasks; after an error, end them."""
        self.shutdown(wait=True, cancel_futures=kind is not None)

    def _open(self, address: str) -> Any:
        client = connected(address)
        self._ends.enter_context(quiet())
        self._ends.callback(client.close, timeout=ENDS_WITHIN)
        return client

    def _setup(self, seconds: float | None, memory: float | None) -> Setup:
        """What workers need; see there."""
        files = self._files
        search = [path for path in sys.path if any(f.startswith(path + os.sep) for f in files)]
        return Setup(
            name=f"softctl-{uuid.uuid4().hex}",
            files=files,
            folder=os.getcwd(),
            search=tuple(os.path.realpath(path) for path in search if path),
            first=packed(first_calls(), files.keys()),
            seconds=seconds,
            memory=memory,
        )

    def _wait_for_workers(self) -> None:
        """Until there is one that is ready.

        Raises:
            ClusterError: One cannot be used, or the cluster is gone.
        """
        said = False
        while not self.count:
            try:
                self._members.look()
            except OSError as error:
                raise ClusterError(f"The cluster at '{self._address}' is gone.") from error
            if self._members.refused:
                raise ClusterError("\n".join(self._members.refused.values()))
            if not self.count and not said:
                self._note(f"The cluster at '{self._address}' has no workers yet: waiting.")
                said = True
            self._stop.wait(0.0 if self.count else LOOKS_EVERY / 5)
        self._say_kernels()

    def _send(self, future: Future[Any], task: bytes) -> None:
        """Give a task to the scheduler, whose result becomes that of the future."""
        name = self._members.setup.name
        key = f"softctl-{uuid.uuid4().hex}"
        # The scheduler unpickles what is submitted: bytes, so that it needs nothing of ours.
        call = pickle.dumps(Call(name, task))
        remote = self._client.submit(pickle.loads, call, key=key, pure=False, resources={name: 1})
        self._sent[future] = remote, task
        remote.add_done_callback(lambda remote: self._collect_later(future, remote))

    def _collect_later(self, future: Future[Any], remote: Any) -> None:
        """In a thread of ours: Dask's own is one for all, and a lost result is computed again."""
        with suppress(RuntimeError):  # we are closed
            self._collectors.submit(self._collect, future, remote)

    def _collect(self, future: Future[Any], remote: Any) -> None:
        """Give a future the result of its task."""
        from distributed.scheduler import KilledWorker

        result: Any = None
        error: BaseException | None = None
        try:
            answer = remote.result()
        except (CancelledError, OSError):  # the scheduler's end, before or while it answers
            if self._is_current(future, remote):
                self._lose()
            return
        except KilledWorker:
            text = "the Dask workers that had it died, one after the other"
            error = WorkerEndedError("died", text)
        except Exception as raised:
            error = ClusterError(f"Dask failed ({type(raised).__name__}: {raised}).")
            error.__cause__ = raised
        else:
            try:
                result = result_of(unpacked(answer))
            except BaseException as raised:
                error = raised
        with suppress(InvalidStateError, RuntimeError):  # cancelled in the meantime
            if self._is_current(future, remote) and future.set_running_or_notify_cancel():
                future.set_exception(error) if error else future.set_result(result)

    def _is_current(self, future: Future[Any], remote: Any) -> bool:
        with self._lock:
            return self._sent.get(future, (None,))[0] is remote

    def _forget(self, future: Future[Any]) -> None:
        """Drop the task of a future that is done, or was cancelled."""
        if future.cancelled():
            with suppress(RuntimeError):  # it knows already
                future.set_running_or_notify_cancel()  # for those who wait for it
        with self._lock:
            remote, _ = self._sent.pop(future, (None, b""))
        if remote is not None and not self._lost:
            with suppress(Exception):
                remote.cancel() if future.cancelled() else remote.release()

    def _watch(self) -> None:
        """Make workers ready that join, and notice the end of the cluster."""
        while not self._stop.wait(self._pause()) and not self._lost:
            before, refused = self.count, set(self._members.refused)
            try:
                changed = self._members.look()
                if changed and self.count:
                    self._send_stuck()
            except Exception:
                if not self._stop.is_set():
                    self._lose()
                return
            for name, why in self._members.refused.items():
                if name not in refused:
                    self._note(f"Not used: {why}")
            self._say_kernels()
            if before and not self.count:
                self._note(f"The cluster at '{self._address}' has lost its workers: waiting.")

    def _say_kernels(self) -> None:
        """That workers have other processors, once for each kind."""
        here = blas_kernels()
        for kernels in self._members.kernels - {here} - self._said_kernels:
            self._said_kernels.add(kernels)
            self._note(
                f"BLAS has the kernels of {kernels or 'another processor'} on workers, and of "
                f"{here or 'another'} here: last digits of results may differ."
            )

    def _pause(self) -> float:
        return LOOKS_EVERY * max(1.0, self._members.known / MANY)

    def _send_stuck(self) -> None:
        """Send tasks anew that no worker has.

        The scheduler does not look at them again when a worker gets ready that had joined before.
        """
        held = {key for keys in self._client.processing().values() for key in keys}
        with self._lock:
            for future, (remote, task) in list(self._sent.items()):
                if remote.status == "pending" and remote.key not in held:
                    self._send(future, task)
                    remote.cancel()

    def _lose(self) -> None:
        """The cluster is gone."""
        with self._lock:
            self._lost = True
            futures = list(self._sent)
        for future in futures:
            future.cancel()

    def _wait_for_tasks(self) -> None:
        while futures := list(self._sent):
            wait(futures, LOOKS_EVERY)

    def _close(self) -> None:
        """Cancel what is left, end the processes on the workers, and disconnect."""
        self._stop.set()
        for future in list(self._sent):
            future.cancel()
        if not self._lost:
            with suppress(Exception):
                self._client.run(release, self._members.setup.name, on_error="ignore")
        self._ends.close()
