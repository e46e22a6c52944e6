"""Throughput of a batch, beside the loops that it replaces."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Thread
from time import monotonic

from sofa_softctl.base.executors.local import LocalExecutor
from sofa_softctl.batch.execution.driver import Progress, run_study
from sofa_softctl.batch.study.study import Study
from sofa_softctl.batch.table.folder import StudyFolder
from sofa_softctl.errors import StudyError

LEFT_OUT = 2
"""First runs of each process, which load and compile, and do not count."""
MOST = 1000
"""Runs of the study that loops do, again and again."""
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
"""What a loop does for each run."""
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
    """A batch, and loops that do the same runs at the same time on the same cores."""

    loop: str
    """What the loops are: a key of `LOOPS`."""
    workers: int
    """Processes of the batch, and number of loops."""
    batch: float
    """Runs that the batch does [1 / min]."""
    loops: float
    """Runs that all loops do [1 / min]."""
    runs: int
    """Runs of the batch that count."""

    @property
    def ratio(self) -> float:
        """Of the batch to the loops [-]."""
        return self.batch / self.loops


def throughput(study: Study, loop: str, workers: int, seconds: float) -> Throughput:
    """Measure a batch beside loops. A slow or busy computer favours neither: both share it.

    Args:
        study: Its first runs are done; rows go to a temporary folder.
        loop: A key of `LOOPS`.
        workers: Of the batch; and number of loops.
        seconds: Time that counts, from when all have done `LEFT_OUT` runs [s].

    Raises:
        StudyError: Loops cannot do the study, or it is done before the time.
    """
    scenario = study.scenario
    runs = [dict(run.parameters) for run in islice(study.runs(), MOST)]
    if not scenario.scene or any("." in name for name in runs[0]):
        raise StudyError(
            f"The study '{study.name}' cannot be done by loops. Expected a scene, not a function, "
            "and parameters of createScene, not Data."
        )
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "runs.json"
        file.write_text(json.dumps([scenario.scene, scenario.steps, scenario.duration, runs]))
        with _looping(LOOPS[loop], file, workers) as loops:
            batch = _batch(study, Path(name) / "rows", workers, seconds, loops)
    begin = max(batch[LEFT_OUT * workers - 1], *(times[LEFT_OUT - 1] for times in loops))
    rates = [_per_minute(times, begin) for times in (batch, *loops)]
    return Throughput(loop, workers, rates[0], sum(rates[1:]), sum(time >= begin for time in batch))


def _per_minute(times: Sequence[float], begin: float) -> float:
    """Runs a minute from a time on [1 / min]; they ended at `times` [s]."""
    counted = [time for time in times if time >= begin]
    return 60.0 * (len(counted) - 1) / (counted[-1] - counted[0])


class _Enough(Exception):
    """The time that was asked for is over."""


def _batch(
    study: Study, folder: Path, workers: int, seconds: float, loops: Sequence[Sequence[float]]
) -> list[float]:
    """Times at which the runs of a batch ended, until `seconds` count [s]."""
    ended: list[float] = []
    begin: list[float] = []
    first = [LEFT_OUT * workers, *(LEFT_OUT for _ in loops)]

    def watch(progress: Progress) -> None:
        now = monotonic()
        if progress.last is not None:
            ended.append(now)
        if not begin and all(len(t) >= n for t, n in zip((ended, *loops), first, strict=True)):
            begin.append(now)
        enough = begin and now > begin[0] + seconds
        if enough and all(times[-3:][0] >= begin[0] for times in (ended, *loops)):
            raise _Enough

    limits = study.limits
    executor = LocalExecutor(workers, seconds=limits.seconds, memory=limits.memory)
    try:
        with StudyFolder(folder, study) as opened, executor:
            run_study(opened, executor, report=watch)
    except _Enough:
        return ended
    raise StudyError(
        f"The study '{study.name}' was done in less than {seconds:g} s. Expected one of more runs."
    )


@contextmanager
def _looping(body: str, runs: Path, count: int) -> Iterator[list[list[float]]]:
    """Loops in processes of their own; times at which their runs end, filled in meanwhile [s]."""
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
        Thread(target=listen, args=each, daemon=True) for each in zip(processes, ended, strict=True)
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
