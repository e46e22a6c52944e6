"""What does the runs of a study: processes of this computer, or a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from sofa_softctl.base.executors.cluster import ClusterExecutor
from sofa_softctl.base.executors.local import LocalExecutor
from sofa_softctl.base.executors.workers import check_workers, workers
from sofa_softctl.batch.execution.check import check_study
from sofa_softctl.batch.study import Study


def local_workers(study: Study, count: int | None, cluster: str = "") -> LocalExecutor:
    """Processes of this computer, with the limits of a study.

    Args:
        study: The study.
        count: Their number; None: one a core.
        cluster: Address of a scheduler whose workers do the runs: then there is one process here,
            which checks the study. Empty: none.

    Raises:
        UsageError: There are a count and a cluster.
    """
    check_workers(count, cluster)
    count = 1 if cluster else count or len(os.sched_getaffinity(0))
    return LocalExecutor(count, seconds=study.limits.seconds, memory=study.limits.memory)


@contextmanager
def study_workers(
    study: Study, here: LocalExecutor, cluster: str
) -> Iterator[tuple[LocalExecutor | ClusterExecutor, tuple[str, ...] | None]]:
    """The executor of a study's runs, and the files that they read; None: to be looked for.

    The files of a study for a cluster are looked for here: its workers may not see them.

    Args:
        study: The study.
        here: See `local_workers`.
        cluster: Address of a Dask scheduler; empty: the runs are done here.

    Raises:
        StudyError: No run can succeed, see `check_study`.
        ClusterError: The cluster cannot be used, see `ClusterExecutor`.
    """
    if not cluster:
        yield here, None
        return
    sources = check_study(study, here)
    files = [*sources, *study.files, *study.plugins]
    seconds, memory = study.limits.seconds, study.limits.memory
    with workers(0, cluster, files, seconds=seconds, memory=memory) as executor:
        assert executor is not None
        yield executor, sources
