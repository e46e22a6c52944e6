"""Dask workers whose runs take their time, but compute nothing: many on one computer.

python -m benchmarks.simulated_workers ADDRESS COUNT THREADS SECONDS
"""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import Future
from functools import partial
from typing import Any
from unittest import mock

from sofa_softctl.base.executors import cluster_worker
from sofa_softctl.base.executors.packing import dump_original_paths, load_with_paths
from sofa_softctl.base.executors.worker import answer_of, packed_answer
from sofa_softctl.batch.execution.run_one import Task
from sofa_softctl.batch.study.row import OK, Row
from sofa_softctl.status import Verdict

SOURCES = ("/home/user/project/scenes/robot.py", "/home/user/project/scenes/meshes/robot.vtk")
"""Files that a run reads; their names come with its row."""
AT_ONCE = 20
"""Workers that join at the same time."""
HEARTBEAT = "5s"
"""Of each worker: the scheduler asks for this interval where there are many."""
SETTINGS = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "60s",
    "distributed.admin.tick.interval": "10s",
}
"""What a thousand workers in one process cannot do, and one in its own does unnoticed."""


class _Simulated:
    """In place of the processes of a worker: gives a row some time after its task came."""

    def __init__(self, seconds: float, loop: asyncio.AbstractEventLoop) -> None:
        self._seconds, self._loop = seconds, loop

    def submit(self, call: Any, task: bytes) -> Future[bytes]:
        """See `Executor.submit`."""
        future: Future[bytes] = Future()
        _, (work,), _ = load_with_paths(task)
        answer = answer_of(partial(_row, work, self._seconds))
        packed = packed_answer(answer, dump_original_paths, load_with_paths)
        self._loop.call_soon_threadsafe(
            self._loop.call_later, self._seconds, future.set_result, packed
        )
        return future

    def drop(self, future: Future[bytes]) -> None:
        """See `LocalExecutor.drop`."""

    def shutdown(self, **options: bool) -> None:
        """See `Executor.shutdown`."""


def _row(task: Task, seconds: float) -> Row:
    """A row as `run_one` makes it."""
    return {
        "run": task.run.id,
        "index": task.run.index,
        "parameters": dict(task.run.parameters),
        "measures": {"error": 0.123456789, "effort": 0.5},
        "status": OK,
        "verdict": Verdict.REACHED.name,
        "started": "2000-01-01T00:00:00.000+00:00",
        "worker": "computer-0001:12345",
        "steps": 200,
        "time": 2.0,
        "ms_per_step": 3.21,
        "seconds": seconds,
        "sources": list(SOURCES),
    }


async def _work(address: str, count: int, threads: int, seconds: float) -> None:
    import dask
    from distributed import Worker

    loop = asyncio.get_running_loop()
    dask.config.set(SETTINGS)
    workers: list[Any] = []
    with mock.patch.object(
        cluster_worker, "LocalExecutor", lambda *_, **__: _Simulated(seconds, loop)
    ):
        while len(workers) < count:
            new = [
                Worker(
                    address,
                    name=f"simulated-{len(workers) + k}",
                    nthreads=threads,
                    host="127.0.0.1",
                    dashboard=False,
                    memory_limit=0,
                    heartbeat_interval=HEARTBEAT,
                )
                for k in range(min(AT_ONCE, count - len(workers)))
            ]
            await asyncio.gather(*new)
            workers += new
        await asyncio.gather(*(worker.finished() for worker in workers))


if __name__ == "__main__":
    asyncio.run(_work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])))
