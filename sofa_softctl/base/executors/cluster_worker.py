"""Functions that run in a worker of a Dask cluster, which passes tasks to its own processes."""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from sofa_softctl.base.executors.carried import cached_root, match_digests, write_below
from sofa_softctl.base.executors.local import LocalExecutor
from sofa_softctl.base.executors.packing import dump_original_paths, load_with_paths, set_root
from sofa_softctl.base.executors.retry import WorkerEndedError
from sofa_softctl.base.executors.worker import answer_of, packed_answer


@dataclass(frozen=True)
class ClusterWorkerSettings:
    """Intervals of the processes of a Dask worker."""

    idle_timeout: float = 60.0
    """Time without a task after which a process ends [s]: its driver may have been killed."""
    check_interval: float = 0.5
    """Interval of checks for cancelled tasks [s]."""


SETTINGS = ClusterWorkerSettings()


@dataclass(frozen=True)
class WorkerSetup:
    """Data that every worker needs before its first task."""

    name: str
    """Name of the driver; tasks need a resource of this name, which only ready workers have."""
    files: Mapping[str, str]
    """Digest of each file that tasks read, by its absolute path."""
    folder: str
    """Current folder of the driver."""
    search: tuple[str, ...]
    """Entries of its sys.path in which some of the files are."""
    first: bytes
    """Functions that each process calls first; a pickle of `packing.packed`."""
    seconds: float | None
    """Longest time of a task [s], or None."""
    memory: float | None
    """Largest resident memory of a process [bytes], or None."""


_executors: dict[tuple[str, str], LocalExecutor] = {}
"""Executors by driver and worker: threads may be workers, too."""


async def prepare(
    setup: WorkerSetup, content: Mapping[str, bytes] | None, dask_worker: Any
) -> bool:
    """Prepare a worker for tasks; return False if it lacks files and needs their contents.

    Args:
        setup: Data that the worker needs.
        content: Content of each file, or None to only look for the files.
        dask_worker: Worker, from `Client.run`.
    """
    root = await asyncio.to_thread(_root_for, setup.files, content, dask_worker.local_directory)
    if root is None:
        return False
    release_executor(setup.name, dask_worker)
    _executors[setup.name, dask_worker.id] = LocalExecutor(
        dask_worker.state.nthreads,
        seconds=setup.seconds,
        memory=setup.memory,
        idle=SETTINGS.idle_timeout,
        first=[partial(_begin, root, setup.folder, setup.search, setup.first)],
    )
    await dask_worker.set_resources(**{setup.name: dask_worker.state.nthreads})
    return True


def _root_for(
    files: Mapping[str, str], content: Mapping[str, bytes] | None, cache: str
) -> str | None:
    """Return the folder above the files, written if necessary, or None if contents are missing."""
    if match_digests(files):
        return ""
    root = cached_root(files, cache)
    if not match_digests(files, root):
        if content is None:
            return None
        write_below(content, root)
    return root


async def release(name: str, dask_worker: Any) -> None:
    """End the processes of a driver."""
    if release_executor(name, dask_worker):
        await dask_worker.set_resources(**{name: 0})


def release_executor(name: str, dask_worker: Any) -> bool:
    """End the processes of a driver; return False if it has none."""
    executor = _executors.pop((name, dask_worker.id), None)
    if executor is not None:
        executor.shutdown(wait=False, cancel_futures=True)
    return executor is not None


@dataclass(frozen=True)
class RemoteTask:
    """A call of `run_task`, which `pickle.loads` replaces by its result."""

    name: str
    """Name of the driver."""
    task: bytes
    """Function, arguments and keywords; a pickle of `packing.packed`."""

    def __reduce__(self) -> tuple[Callable[[str, bytes], bytes], tuple[str, bytes]]:
        return run_task, (self.name, self.task)


def run_task(name: str, task: bytes) -> bytes:
    """Run a task in a process of this worker; return a pickled `worker.Answer`.

    Args:
        name: Name of the driver.
        task: Function, arguments and keywords; a pickle of `packing.packed`.
    """
    from distributed import get_worker

    worker = get_worker()
    executor, key = _executors[name, worker.id], worker.get_current_task()
    future = executor.submit(_call, task)
    while not wait([future], SETTINGS.check_interval).done:
        if not _is_wanted(worker, key):
            executor.drop(future)
    return _answer(future)


def _answer(future: Future[bytes]) -> bytes:
    try:
        return future.result()
    except WorkerEndedError as error:
        return pickle.dumps((None, error, ""))


def _is_wanted(worker: Any, key: Any) -> bool:
    """Return True if a running task was neither cancelled nor lost its driver."""
    state = worker.state.tasks.get(key)
    return state is not None and state.state != "cancelled"


def _begin(root: str, folder: str, search: tuple[str, ...], first: bytes) -> None:
    """Change to the driver's folder and search path, as far as its files exist here."""
    set_root(root)
    sys.path[:0] = [root + path for path in search if root + path not in sys.path]
    if root:
        os.makedirs(root + folder, exist_ok=True)
    with suppress(OSError):
        os.chdir(root + folder)
    try:
        calls: list[Callable[[], object]] = load_with_paths(first)
        for call in calls:
            call()
    except Exception as error:
        _problems.append(error)


def _call(task: bytes) -> bytes:
    """Run a task in this process and return the pickled answer."""
    answer = answer_of(partial(_run, task))
    return packed_answer(answer, dump_original_paths, load_with_paths)


_problems: list[Exception] = []
"""Errors of the first calls, such as a missing SOFA: all tasks of this process raise them."""


def _run(task: bytes) -> Any:
    for problem in _problems:
        raise problem
    function, args, kwargs = load_with_paths(task)
    return function(*args, **kwargs)
