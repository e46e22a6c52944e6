"""What a large Dask cluster does to a batch, by one whose workers are simulated."""

from __future__ import annotations

import json
import os
import socket
import stat
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.command import command_app
from sofa_softctl.base.executors.cluster import ClusterExecutor
from sofa_softctl.base.executors.cluster_client import connect_client
from sofa_softctl.base.extras import install_command
from sofa_softctl.batch.execution.driver import Progress, run_study
from sofa_softctl.batch.study.file import parse_study
from sofa_softctl.batch.study.study import Study
from sofa_softctl.batch.table.folder import StudyFolder
from sofa_softctl.cli.app import run_app
from sofa_softctl.cli.options import Json, Quiet, print_json
from sofa_softctl.errors import ClusterError
from sofa_softctl.view.terminal.run import Terminal

JOIN_WITHIN = 300.0
"""Time after which workers that have not joined are not waited for [s]."""
_STUDY = """
function = "nothing.py:nothing"
parameters.x.range = [0.0, 1.0]
parameters.y.range = [0.0, 1.0]
parameters.z.range = [0.0, 1.0]
[sampling]
method = "random"
count = {count}
"""
_BYTES = 120
"""Offset in TCP_INFO of Linux: bytes that were sent and arrived, and that were received."""


@dataclass(frozen=True)
class ClusterLoad:
    """What the runs of a batch cost the scheduler and the driver."""

    workers: int
    """Dask workers."""
    threads: int
    """Runs at once of each."""
    seconds: float
    """Time that a run takes [s]."""
    runs: int
    """Runs that were done."""
    ready: float
    """Time until the driver has made all workers ready [s]."""
    rate: float
    """Runs that were done [1 / s]."""
    scheduler: float
    """Processor time of the scheduler for a run [s]."""
    driver: float
    """Processor time of the driver for a run, with its row in the table [s]."""
    received: float
    """What the scheduler receives for a run [bytes]."""
    sent: float
    """What the scheduler sends for a run [bytes]."""
    scheduler_memory: float
    """Resident memory of the scheduler at the end [bytes]."""

    @property
    def busy(self) -> float:
        """Part of the time in which workers had runs [-]."""
        return self.rate * self.seconds / (self.workers * self.threads)

    @property
    def shortest(self) -> float:
        """Time of a run below which the scheduler, on one core, does not keep them busy [s]."""
        return self.scheduler * self.workers * self.threads


def cluster_load(
    workers: int,
    threads: int,
    seconds: float,
    runs: int,
    report: Callable[[Progress], None] = lambda progress: None,
) -> ClusterLoad:
    """Do a batch on a cluster whose scheduler is real, and whose workers only wait.

    The scheduler, all workers, and the driver are three processes of this computer; Linux only.

    Args:
        workers: Dask workers, all in one process.
        threads: Runs at once of each.
        seconds: Time that a run takes [s].
        runs: Runs that are done.
        report: See `run_study`.

    Raises:
        ClusterError: Dask is not installed, or workers do not join.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        address, scheduler = stack.enter_context(_scheduler(folder))
        client = connect_client(address)
        stack.callback(client.close)
        stack.enter_context(_workers(address, workers, threads, seconds))
        _wait_for(client, workers)
        begin = monotonic()
        executor = stack.enter_context(ClusterExecutor(address))
        ready = monotonic() - begin
        opened = stack.enter_context(StudyFolder(folder / "rows", _study(folder, runs)))
        before = _Costs(client, scheduler)
        begin = monotonic()
        run_study(opened, executor, sources=(), report=report)
        time = monotonic() - begin
        after = _Costs(client, scheduler)
        return ClusterLoad(
            workers=workers,
            threads=threads,
            seconds=seconds,
            runs=runs,
            ready=ready,
            rate=runs / time,
            scheduler=(after.scheduler - before.scheduler) / runs,
            driver=(after.driver - before.driver) / runs,
            received=(after.received - before.received) / runs,
            sent=(after.sent - before.sent) / runs,
            scheduler_memory=after.memory,
        )


def _study(folder: Path, runs: int) -> Study:
    (folder / "nothing.py").write_text("def nothing(x, y, z):\n    return {}\n")
    return parse_study(_STUDY.format(count=runs), str(folder / "nothing.toml"), folder)


@contextmanager
def _scheduler(folder: Path) -> Iterator[tuple[str, int]]:
    """Address and process number of a scheduler."""
    file = folder / "scheduler.json"
    options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file")
    with _process("distributed.cli.dask_scheduler", *options, str(file)) as process:
        yield _address(file, process), process.pid


def _address(file: Path, process: subprocess.Popen[bytes]) -> str:
    """What a scheduler writes to its file."""
    end = monotonic() + JOIN_WITHIN
    while process.poll() is None and monotonic() < end:
        sleep(0.1)
        with suppress(FileNotFoundError, ValueError):  # it is not there yet, or not complete
            return str(json.loads(file.read_text())["address"])
    raise ClusterError(
        f"No Dask scheduler can be started. Is Dask installed? {install_command('cluster')}."
    )


@contextmanager
def _workers(address: str, count: int, threads: int, seconds: float) -> Iterator[None]:
    with _process("benchmarks.simulated_workers", address, str(count), str(threads), str(seconds)):
        yield


@contextmanager
def _process(module: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Python process that prints nothing, and ends with the block."""
    command = [sys.executable, "-P", "-m", module, *arguments]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet) as process:
        try:
            yield process
        finally:
            process.kill()


def _wait_for(client: Any, workers: int) -> None:
    """Until all workers have joined.

    Raises:
        ClusterError: They have not, within `JOIN_WITHIN`.
    """
    end = monotonic() + JOIN_WITHIN
    while (joined := len(client.scheduler_info(n_workers=-1)["workers"])) < workers:
        if monotonic() > end:
            raise ClusterError(
                f"Only {joined} of {workers} simulated workers joined within {JOIN_WITHIN:.0f} s. "
                "Ask for fewer."
            )
        sleep(0.5)


class _Costs:
    """What was used until now."""

    def __init__(self, client: Any, scheduler: int) -> None:
        import psutil

        process = psutil.Process(scheduler)
        times, own = process.cpu_times(), psutil.Process().cpu_times()
        self.scheduler: float = times.user + times.system
        self.driver: float = own.user + own.system
        self.memory: float = process.memory_info().rss
        self.received, self.sent = client.run_on_scheduler(traffic)


def traffic() -> tuple[int, int]:
    """What all TCP connections of this process have received, and sent [bytes]."""
    received = sent = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            if not stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                continue
            with socket.socket(fileno=os.dup(int(name))) as connection:
                info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
            out, back = struct.unpack_from("QQ", info, _BYTES)
        except (OSError, struct.error):  # closed meanwhile, or no TCP
            continue
        received, sent = received + back, sent + out
    return received, sent


def show_cluster_load(found: ClusterLoad) -> None:
    """Print what a batch on simulated workers costs."""
    slots = found.workers * found.threads
    table = Table(
        title=f"{found.workers:,} Dask workers, {slots:,} runs of {found.seconds:g} s at once",
        title_justify="left",
        show_header=False,
    )
    table.add_column()
    table.add_column(justify="right")
    for name, value in (
        ("until workers are ready", f"{found.ready:.1f} s"),
        ("runs", f"{found.runs:,}"),
        ("runs a second", f"{found.rate:.1f}"),
        ("workers busy", f"{100.0 * found.busy:.0f} %"),
        ("scheduler, a run", f"{1e3 * found.scheduler:.2f} ms"),
        ("driver, a run", f"{1e3 * found.driver:.2f} ms"),
        ("received by the scheduler, a run", f"{found.received / 1e3:.1f} kB"),
        ("sent by the scheduler, a run", f"{found.sent / 1e3:.1f} kB"),
        ("memory of the scheduler", f"{found.scheduler_memory / 1e6:.0f} MB"),
        ("shortest run that keeps them busy", f"{found.shortest:.2f} s"),
    ):
        table.add_row(name, value)
    Console().print(table)


def cluster(
    workers: Annotated[int, typer.Option(help="Dask workers.", min=1)] = 100,
    threads: Annotated[int, typer.Option(help="Runs at once of each.", min=1)] = 10,
    seconds: Annotated[float, typer.Option(help="Time that a run takes in s.", min=0.0)] = 10.0,
    runs: Annotated[
        int | None, typer.Option(help="Runs; five for each that is done at once when left out.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure what a batch on many Dask workers costs the scheduler and the driver.

    The scheduler and the driver are real; the workers are simulated in one process, and their runs
    only take time.
    """
    count = runs or 5 * workers * threads
    with Terminal(quiet=quiet or as_json).bar("Running", count) as advance:
        found = cluster_load(workers, threads, seconds, count, lambda done: advance(done.done))
    if as_json:
        print_json(asdict(found) | {"busy": found.busy, "shortest": found.shortest})
    elif not quiet:
        show_cluster_load(found)


app = command_app(
    cluster,
    "python -m benchmarks.cluster --workers 100 --threads 10 --seconds 10",
)

if __name__ == "__main__":
    run_app(app)
