"""The executor that a count of processes, or the address of a cluster, asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sofa_softctl._internal.executors.cluster import ClusterExecutor
from sofa_softctl._internal.executors.local import LocalExecutor


@contextmanager
def workers(
    count: int,
    cluster: str = "",
    files: Iterable[str] = (),
    *,
    seconds: float | None = None,
    memory: float | None = None,
) -> Iterator[LocalExecutor | ClusterExecutor | None]:
    """An executor, which ends with the context; None for 0 processes.

    Its processes also end when this one is killed.

    Args:
        count: Number of processes on this computer; of no effect with a cluster.
        cluster: Address of a Dask scheduler, such as 'tcp://host:8786'; empty: this computer.
        files: Files that tasks read, for workers of the cluster that do not see them.
        seconds: Longest time of a task [s]; None: any.
        memory: Most resident memory of a process [bytes]; None: any.

    Raises:
        ClusterError: The cluster cannot be used, see `ClusterExecutor`.
    """
    if cluster:
        with ClusterExecutor(cluster, seconds=seconds, memory=memory, files=files) as remote:
            yield remote
    elif count:
        with LocalExecutor(count, seconds=seconds, memory=memory) as executor:
            yield executor
    else:
        yield None
