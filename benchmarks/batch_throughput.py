"""Throughput of a batch, compared with the loops that it replaces."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.command import command_app
from sofa_softctl.base.executors.local import LocalExecutor
from sofa_softctl.base.machine import core_count
from sofa_softctl.batch.execution.driver import Progress, run_study
from sofa_softctl.batch.study.file import read_study
from sofa_softctl.batch.study.study import Study
from sofa_softctl.batch.table.folder import StudyFolder
from sofa_softctl.cli.app import run_app
from sofa_softctl.cli.options import Json, Quiet, print_json
from sofa_softctl.errors import StudyError
from sofa_softctl.view.terminal.run import Terminal

WARM_UP_RUNS = 2
"""Number of first runs of each process, which load and compile, and do not count."""
LOOP_RUNS_MAX = 1000
"""Maximum number of different runs in loops."""
LOOPS = {
    "plain loops": """
        with Session(scene, backend="embedded", parameters=parameters) as session:
            run(session, step_count(session, steps, duration, session.duration or 1.0))
""",
    "loops of softctl run": """
        length = ["--steps", str(steps)] if steps else ["--duration", str(duration)]
        sets = [part for name in parameters for part in ("--set", f"{name}={parameters[name]}")]
        command = [sys.executable, "-P", "-m", "sofa_softctl.cli", "run", scene, "--quiet", *sets]
        subprocess.run([*command, *(length if steps or duration else [])], check=False)
""",
}
"""Code of loops for each run."""
_PROGRAM = """
import itertools, json, subprocess, sys
from sofa_softctl.scene.session.run import run, step_count
from sofa_softctl.scene.session.session import Session

with open(sys.argv[1]) as file:
    scene, steps, duration, runs = json.load(file)
for parameters in itertools.cycle(runs):
    if True:{body}
    print(file=sys.stdout, flush=True)
"""


@dataclass(frozen=True)
class Throughput:
    """Throughput of a batch, and of loops with the same runs, time and cores."""

    loop: str
    """Kind of the loops: a key of `LOOPS`."""
    workers: int
    """Number of processes of the batch, and of loops."""
    batch: float
    """Runs of the batch per minute [1 / min]."""
    loops: float
    """Runs of all loops per minute [1 / min]."""
    runs: int
    """Number of runs of the batch that count."""

    @property
    def ratio(self) -> float:
        """Throughput of the batch divided by the loops' [-]."""
        return self.batch / self.loops


def throughput(study: Study, loop: str, workers: int, seconds: float) -> Throughput:
    """Measure a batch and loops, simultaneously: they share slow or busy computers.

    Args:
        study: Study whose first runs are executed; rows go to a temporary folder.
        loop: Key of `LOOPS`.
        workers: Number of workers of the batch, and of loops.
        seconds: Measured time, after `WARM_UP_RUNS` runs of each process [s].

    Raises:
        StudyError: Loops cannot execute the study, or it ends too early.
    """
    scenario = study.scenario
    runs = [dict(run.parameters) for run in islice(study.runs(), LOOP_RUNS_MAX)]
    if not scenario.scene or any("." in name for name in runs[0]):
        raise StudyError(
            f"The study '{study.name}' cannot be done by loops. Expected a scene, not a function, "
            "and parameters of createScene, not Data."
        )
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "runs.json"
        file.write_text(json.dumps([scenario.scene, scenario.steps, scenario.duration, runs]))
        with _run_loops(LOOPS[loop], file, workers) as loops:
            batch = _batch(study, Path(name) / "rows", workers, seconds, loops)
    begin = max(batch[WARM_UP_RUNS * workers - 1], *(times[WARM_UP_RUNS - 1] for times in loops))
    rates = [_per_minute(times, begin) for times in (batch, *loops)]
    return Throughput(loop, workers, rates[0], sum(rates[1:]), sum(time >= begin for time in batch))


def _per_minute(times: Sequence[float], begin: float) -> float:
    """Return runs per minute after a time [1 / min]; they ended at `times` [s]."""
    counted = [time for time in times if time >= begin]
    return 60.0 * (len(counted) - 1) / (counted[-1] - counted[0])


class _TimeElapsed(Exception):
    """End of the measured time."""


def _batch(
    study: Study, folder: Path, workers: int, seconds: float, loops: Sequence[Sequence[float]]
) -> list[float]:
    """Run a batch, and return the times at which its runs ended [s]."""
    ended: list[float] = []
    begin: list[float] = []
    first = [WARM_UP_RUNS * workers, *(WARM_UP_RUNS for _ in loops)]

    def watch(progress: Progress) -> None:
        now = monotonic()
        if progress.last is not None:
            ended.append(now)
        if not begin and all(len(t) >= n for t, n in zip((ended, *loops), first, strict=True)):
            begin.append(now)
        is_over = begin and now > begin[0] + seconds
        if is_over and all(times[-3:][0] >= begin[0] for times in (ended, *loops)):
            raise _TimeElapsed

    limits = study.limits
    executor = LocalExecutor(workers, seconds=limits.seconds, memory=limits.memory)
    try:
        with StudyFolder(folder, study) as opened, executor:
            run_study(opened, executor, report=watch)
    except _TimeElapsed:
        return ended
    raise StudyError(
        f"The study '{study.name}' was done in less than {seconds:g} s. Expected one of more runs."
    )


@contextmanager
def _run_loops(body: str, runs: Path, count: int) -> Iterator[list[list[float]]]:
    """Run loops in processes, and yield the lists of times at which their runs end [s]."""
    command = [sys.executable, "-c", _PROGRAM.format(body=body), str(runs)]
    processes = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, process_group=0
        )
        for _ in range(count)
    ]
    ended: list[list[float]] = [[] for _ in processes]

    def listen(process: subprocess.Popen[bytes], times: list[float]) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for _ in lines:
                times.append(monotonic())

    threads = [
        Thread(target=listen, args=pair, daemon=True) for pair in zip(processes, ended, strict=True)
    ]
    for thread in threads:
        thread.start()
    try:
        yield ended
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for thread in threads:
            thread.join()


def show_throughput(results: Sequence[Throughput]) -> None:
    """Print runs per minute of a batch, and of loops at the same time."""
    table = Table(title="Runs a minute, at the same time on the same cores")
    table.add_column("beside")
    for column in ("batch", "loops", "ratio", "runs counted"):
        table.add_column(column, justify="right")
    for result in results:
        rates = f"{result.batch:.1f}", f"{result.loops:.1f}", f"{result.ratio:.2f}"
        table.add_row(f"{result.workers} {result.loop}", *rates, str(result.runs))
    Console().print(table)


def batch_throughput(
    study: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="Study file.")],
    workers: Annotated[
        int | None, typer.Option(help="Workers of the batch. Default: one per core.", min=1)
    ] = None,
    seconds: Annotated[float, typer.Option(help="Length of each comparison in s.", min=5.0)] = 60.0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure the runs per minute of a batch, next to loops on the same cores.

    The loops are first plain Python, then softctl run, one for each worker of the batch, at the
    same time. No row is kept.
    """
    results = []
    design = read_study(study)
    with Terminal(quiet=quiet or as_json).bar("Measuring", len(LOOPS)) as advance:
        for loop in LOOPS:
            results.append(throughput(design, loop, workers or core_count(), seconds))
            advance(len(results))
    if as_json:
        print_json([asdict(result) | {"ratio": result.ratio} for result in results])
    elif not quiet:
        show_throughput(results)


app = command_app(
    batch_throughput, "python -m benchmarks.batch_throughput finger.toml --workers 2 --seconds 60"
)

if __name__ == "__main__":
    run_app(app)
