"""Cores and memory of this computer, and threads of kernels that release Python's lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from multiprocessing import parent_process
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")
VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
"""Environment variables by which a user limits threads; the first that is set counts."""
_MEMORY = Path("/proc/meminfo")
_computes_alone = False
"""True in a child process that may use all cores."""


def available_memory() -> int:
    """Return the memory that a process can still get without swapping [bytes].

    Where the system does not say, all of its memory.
    """
    if _MEMORY.exists():
        fields = dict(line.split(":", 1) for line in _MEMORY.read_text().splitlines())
        return 1024 * int(fields["MemAvailable"].split()[0])
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def core_count() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


@cache
def thread_count() -> int:
    """Return the number of threads that kernels may use: at most one a core.

    The cores are those of this process. In a child process it is 1, as other children use the
    cores, unless the child has called `use_all_cores`.
    """
    cores = core_count()
    if parent_process() is not None and not _computes_alone:
        return 1
    requests = [os.environ[name] for name in VARIABLES if os.environ.get(name, "").isdecimal()]
    return max(1, min(int(requests[0]), cores)) if requests else cores


def use_all_cores() -> None:
    """Allow threads in this child process, which computes while its parent waits."""
    global _computes_alone
    _computes_alone = True
    thread_count.cache_clear()


def run_in_threads(kernel: Callable[..., Result], arguments: Sequence[tuple]) -> list[Result]:
    """Return the results of a kernel for each tuple of arguments, each in a thread if allowed.

    The kernel has `nogil`. Its first calls run one after the other, as the first compiles it. A
    hand-over takes about 50 us.
    """
    is_compiled = bool(getattr(kernel, "overloads", True))
    if len(arguments) == 1 or thread_count() == 1 or not is_compiled:
        return [kernel(*values) for values in arguments]
    futures: list[Future[Result]] = [_pool().submit(kernel, *values) for values in arguments[1:]]
    return [kernel(*arguments[0]), *(future.result() for future in futures)]


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_count() - 1, thread_name_prefix="kernel")


if hasattr(os, "register_at_fork"):  # a forked process has no threads of its parent
    os.register_at_fork(after_in_child=thread_count.cache_clear)
    os.register_at_fork(after_in_child=_pool.cache_clear)
