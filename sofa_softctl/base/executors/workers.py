"""Choice of an executor by a number of processes or the address of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from sofa_softctl.base.executors.cluster import ClusterExecutor
from sofa_softctl.base.executors.local import LocalExecutor
from sofa_softctl.base.files_read import files_read
from sofa_softctl.errors import UsageError


@contextmanager
def workers(
    count: int,
    cluster: str = "",
    files: Iterable[str] = (),
    *,
    seconds: float | None = None,
    memory: float | None = None,
) -> Iterator[LocalExecutor | ClusterExecutor | None]:
    """Yield an executor, which ends with the block, or None for 0 processes.

    Its processes also end when this one is killed.

    Args:
        count: Number of processes on this computer; 0 with a cluster.
        cluster: Address of a Dask scheduler, such as 'tcp://host:8786'; "" for this computer.
        files: Files that tasks read, for workers of the cluster that do not see them.
        seconds: Longest time of a task [s], or None.
        memory: Largest resident memory of a process [bytes], or None.

    Raises:
        UsageError: Both are given, see `check_workers`.
        ClusterError: The cluster cannot be used, see `ClusterExecutor`.
    """
    check_workers(count, cluster)
    if cluster:
        with ClusterExecutor(cluster, seconds=seconds, memory=memory, files=files) as remote:
            yield remote
    elif count:
        with LocalExecutor(count, seconds=seconds, memory=memory) as executor:
            yield executor
    else:
        yield None


def check_workers(count: int | None, cluster: str) -> None:
    """Refuse processes of this computer together with a cluster, whose workers are all used.

    Raises:
        UsageError: Both are given.
    """
    if count and cluster:
        raise UsageError(
            "--workers are processes of this computer. With --cluster, all workers of the cluster "
            "do the work: leave --workers out."
        )


def files_sent(cluster: str, *imported: str) -> AbstractContextManager[set[str]]:
    """Yield the files for `workers`: those that Python reads in the block, see `files_read`.

    Without a cluster, no files are collected.
    """
    return files_read(*imported) if cluster else nullcontext(set())
