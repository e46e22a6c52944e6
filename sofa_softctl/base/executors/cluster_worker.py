"""What happens in a worker of a Dask cluster: it hands tasks to processes of its own."""

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

from sofa_softctl.base.executors.carried import are_here, lay_out, root_of
from sofa_softctl.base.executors.local import LocalExecutor
from sofa_softctl.base.executors.packing import packed_back, set_root, unpacked
from sofa_softctl.base.executors.retry import WorkerEndedError
from sofa_softctl.base.executors.worker import answer_of, packed_answer

IDLE = 60.0
"""Time without a task after which a process ends [s]: its driver may have been killed."""
LOOKS_EVERY = 0.5
"""Time between two looks whether a task that runs is still wanted [s]."""


@dataclass(frozen=True)
class Setup:
    """What every worker needs before its first task."""

    name: str
    """Of the driver; tasks need a resource of this name, which workers that are ready have."""
    files: Mapping[str, str]
    """Digest of each file that tasks read, by its absolute path."""
    folder: str
    """Current folder of the driver."""
    search: tuple[str, ...]
    """Entries of its sys.path in which some of the files are."""
    first: bytes
    """What each process calls first; a pickle of `packing.packed`."""
    seconds: float | None
    """Longest time of a task [s]; None: any."""
    memory: float | None
    """Most resident memory of a process [bytes]; None: any."""


_executors: dict[tuple[str, str], LocalExecutor] = {}
"""By driver and worker: threads may be workers, too."""


async def prepare(setup: Setup, content: Mapping[str, bytes] | None, dask_worker: Any) -> bool:
    """Make a worker ready for tasks; False: it does not see the files, and needs their contents.

    Args:
        setup: What it needs.
        content: Content of each file; None: only look for them.
        dask_worker: The worker, from `Client.run`.
    """
    root = await asyncio.to_thread(_root_for, setup.files, content, dask_worker.local_directory)
    if root is None:
        return False
    release_executor(setup.name, dask_worker)
    _executors[setup.name, dask_worker.id] = LocalExecutor(
        dask_worker.state.nthreads,
        seconds=setup.seconds,
        memory=setup.memory,
        idle=IDLE,
        first=[partial(_begin, root, setup.folder, setup.search, setup.first)],
    )
    await dask_worker.set_resources(**{setup.name: dask_worker.state.nthreads})
    return True


def _root_for(
    files: Mapping[str, str], content: Mapping[str, bytes] | None, cache: str
) -> str | None:
    """Folder below which the files are, which are written there; None: they are not there."""
    if are_here(files):
        return ""
    root = root_of(files, cache)
    if not are_here(files, root):
        if content is None:
            return None
        lay_out(content, root)
    return root


async def release(name: str, dask_worker: Any) -> None:
    """End the processes of a driver."""
    if release_executor(name, dask_worker):
        await dask_worker.set_resources(**{name: 0})


def release_executor(name: str, dask_worker: Any) -> bool:
    """End the processes of a driver; False: it has none."""
    executor = _executors.pop((name, dask_worker.id), None)
    if executor is not None:
        executor.shutdown(wait=False, cancel_futures=True)
    return executor is not None


@dataclass(frozen=True)
class Call:
    """A call of `do`, in whose place `pickle.loads` gives what it gives."""

    name: str
    """See `do`."""
    task: bytes
    """See `do`."""

    def __reduce__(self) -> tuple[Callable[[str, bytes], bytes], tuple[str, bytes]]:
        return do, (self.name, self.task)


def do(name: str, task: bytes) -> bytes:
    """Do a task in a process of this worker; a pickled `worker.Answer`.

    Args:
        name: The driver's.
        task: Function, arguments and keywords; a pickle of `packing.packed`.
    """
    from distributed import get_worker

    worker = get_worker()
    executor, key = _executors[name, worker.id], worker.get_current_task()
    future = executor.submit(_call, task)
    while not wait([future], LOOKS_EVERY).done:
        if not _is_wanted(worker, key):
            executor.drop(future)
    return _answer(future)


def _answer(future: Future[bytes]) -> bytes:
    try:
        return future.result()
    except WorkerEndedError as error:
        return pickle.dumps((None, error, ""))


def _is_wanted(worker: Any, key: Any) -> bool:
    """Whether a task that runs was neither cancelled, nor lost its driver."""
    state = worker.state.tasks.get(key)
    return state is not None and state.state != "cancelled"


def _begin(root: str, folder: str, search: tuple[str, ...], first: bytes) -> None:
    """Be where the driver is, as far as there are its files."""
    set_root(root)
    sys.path[:0] = [root + path for path in search if root + path not in sys.path]
    if root:
        os.makedirs(root + folder, exist_ok=True)
    with suppress(OSError):
        os.chdir(root + folder)
    try:
        calls: list[Callable[[], object]] = unpacked(first)
        for call in calls:
            call()
    except Exception as error:
        _problems.append(error)


def _call(task: bytes) -> bytes:
    """Do a task in this process."""
    answer = answer_of(partial(_done, task))
    return packed_answer(answer, packed_back, unpacked)


_problems: list[Exception] = []
"""Why this process can do no task, as for want of SOFA on this computer: all tasks raise it."""


def _done(task: bytes) -> Any:
    for problem in _problems:
        raise problem
    function, args, kwargs = unpacked(task)
    return function(*args, **kwargs)
