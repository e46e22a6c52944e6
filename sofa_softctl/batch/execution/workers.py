"""Workers that do the runs of a study: processes of this computer, or a cluster."""

from __future__ import annotations

import os
import re
import struct
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from sofa_softctl.base.executors.cluster import ClusterExecutor
from sofa_softctl.base.executors.local import LocalExecutor
from sofa_softctl.base.executors.workers import check_workers, workers
from sofa_softctl.batch.execution.check import check_study
from sofa_softctl.batch.execution.driver import columns_of, row_of
from sofa_softctl.batch.execution.run_one import Task, run_one
from sofa_softctl.batch.study.row import GONE, TIMES, Row
from sofa_softctl.batch.study.study import Study

TEXTS = ("reason", "traceback", "output")
"""Columns with texts of the scene and of Python."""
CHANCE = re.compile(
    rf"(?m)^The recording of the \d+ steps before is kept: .*$|0x[0-9a-fA-F]+"
    rf"|{re.escape(tempfile.gettempdir())}/[^\s'\"]+"
)
"""Parts of texts that differ from run to run: addresses, and names of temporary files."""


def repeat(task: Task, executor: Executor) -> Row:
    """Repeat a run, and return its row with the columns of the table."""
    row = row_of(executor.submit(run_one, task), task)
    row.pop("sources", None)
    return columns_of(row)


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the columns in which two rows of a run differ by a bit, except times and `digest`.

    Texts of errors may differ in addresses of objects and in names of temporary files. If a
    process is ended at a limit, or dies, `output` and `traceback` may differ, since that
    depends on time.
    """
    left_out = {*TIMES, "digest", "index"}
    if before.get("status") == after.get("status") and after.get("status") in GONE:
        left_out |= {"output", "traceback"}
    names = [name for name in (*before, *after) if name not in left_out]
    keys = {name: [_key(name, row.get(name)) for row in (before, after)] for name in names}
    return [name for name, (old, new) in keys.items() if old != new]


def _key(name: str, value: Any) -> Any:
    """Return a key that is equal if values of a column are, without what chance decides."""
    if name in TEXTS and isinstance(value, str):
        value = CHANCE.sub("", value).strip()
    return bitwise_key(value)


def bitwise_key(value: Any) -> Any:
    """Return a key that is equal if values are, bit for bit: also for NaN, and 0 is not -0."""
    if isinstance(value, list):
        return [bitwise_key(item) for item in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value or None  # a missing text equals an empty one
    return struct.pack("<d", value)


def local_workers(study: Study, count: int | None, cluster: str = "") -> LocalExecutor:
    """Start processes of this computer, with the limits of a study.

    Args:
        study: The study.
        count: Number of processes; by default one per core.
        cluster: Address of a scheduler for the runs, or "": with it, only one local process is
            started, which checks the study.

    Raises:
        UsageError: Both a count and a cluster are given.
    """
    check_workers(count, cluster)
    count = 1 if cluster else count or len(os.sched_getaffinity(0))
    return LocalExecutor(count, seconds=study.limits.seconds, memory=study.limits.memory)


@contextmanager
def study_workers(
    study: Study, local: LocalExecutor, cluster: str
) -> Iterator[tuple[LocalExecutor | ClusterExecutor, tuple[str, ...] | None]]:
    """Yield the executor of a study's runs, and the files that they read, or None if unknown.

    The files of a study for a cluster are looked for here: its workers may not see them.

    Args:
        study: The study.
        local: See `local_workers`.
        cluster: Address of a Dask scheduler, or "" for runs on this computer.

    Raises:
        StudyError: No run can succeed, see `check_study`.
        ClusterError: The cluster cannot be used, see `ClusterExecutor`.
    """
    if not cluster:
        yield local, None
        return
    sources = check_study(study, local)
    files = [*sources, *study.files, *study.plugins]
    seconds, memory = study.limits.seconds, study.limits.memory
    with workers(0, cluster, files, seconds=seconds, memory=memory) as executor:
        assert executor is not None
        yield executor, sources
