"""Decisions a second of an environment, beside its scene in a new process for each episode."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter
from typing import Annotated, Any
from xmlrpc.client import ServerProxy

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.command import command_app
from sofa_softctl.cli.app import run_app
from sofa_softctl.cli.files import load_plugins
from sofa_softctl.cli.options import Json, Plugin, Quiet, print_json
from sofa_softctl.errors import WorkerError
from sofa_softctl.learning.environments.named import SAME_STEP, Maker, maker_of
from sofa_softctl.view.terminal.run import Terminal

ROBOTS = 64
"""Robots that make a decision together."""
ROUNDS = 3
"""Turns of each way."""
_PROGRAM = """
import json, sys
from xmlrpc.server import SimpleXMLRPCServer

import numpy as np

from sofa_softctl.learning.environments.named import maker_of

name, options, seed = json.loads(sys.argv[1])
env = maker_of(name, **options).make_env()
env.reset(seed=seed)


def step(action):
    seen, reward, done, cut, _ = env.step(np.array(action, np.float32))
    return seen.tolist(), float(reward), bool(done or cut)


with SimpleXMLRPCServer(("127.0.0.1", 0), logRequests=False) as server:
    server.register_function(step)
    print(server.server_address[1], flush=True)
    server.serve_forever()
"""


@dataclass(frozen=True)
class Throughput:
    """Of an environment, with random actions, medians over some turns."""

    environment: str
    """Its name."""
    workers: int
    """Processes."""
    rate: float
    """Decisions of all robots, in processes that stay and reset by snapshots [1 / s]."""
    separate: float
    """Decisions where each episode starts a process, asked for them by XML-RPC [1 / s]."""
    starting: float
    """Share of the latter's time that goes into starts [-]."""
    steps: int
    """Time steps of the scene in a decision."""

    @property
    def ratio(self) -> float:
        """Of the two [-]."""
        return self.rate / self.separate

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"ratio": self.ratio}


def measure_throughput(
    maker: Maker,
    request: tuple[str, dict[str, Any]],
    workers: int,
    seconds: float,
    rounds: int = ROUNDS,
    progress: Callable[[int], None] | None = None,
) -> Throughput:
    """Measure both ways in turns.

    Processes of one's own are how SofaGym runs its scenes in server mode; here they run the same
    simulator, so that the way alone makes the difference. A surrogate's rival is its scene.

    Args:
        maker: Of the environment.
        request: Name and options for `maker_of` of what the processes run.
        workers: Processes, of either way.
        seconds: Time of a turn, after which its episodes end [s].
        rounds: Turns of each way.
        progress: Called after each turn with their number.

    Raises:
        WorkerError: A process could not be started.
    """
    vector = maker.vector(ROBOTS, workers)
    assert vector.metadata["autoreset_mode"] is SAME_STEP
    rates, others, starts = [], [], []
    try:
        vector.reset(seed=0)
        vector.action_space.seed(0)
        for _ in range(5):  # compile
            vector.step(vector.action_space.sample())
        space = vector.single_action_space
        steps = _steps(maker)
        for number in range(rounds):
            rates.append(_together(vector, seconds))
            if progress is not None:
                progress(2 * number + 1)
            rate, start = _separate(request, workers, seconds, space)
            others.append(rate)
            starts.append(start)
            if progress is not None:
                progress(2 * number + 2)
    finally:
        vector.close()
    found = (median(rates), median(others), median(starts))
    return Throughput(maker.name, workers, *found, steps)


def _steps(maker: Maker) -> int:
    env = maker.make_env()
    task = getattr(env, "task", None)
    limits = getattr(getattr(task, "task", task), "limits", None)
    env.close()
    return int(getattr(limits, "hold", 1))


def _together(vector: Any, seconds: float) -> float:
    done, start = 0, perf_counter()
    while perf_counter() - start < seconds:
        vector.step(vector.action_space.sample())
        done += vector.num_envs
    return done / (perf_counter() - start)


def _separate(
    request: tuple[str, dict[str, Any]], workers: int, seconds: float, space: Any
) -> tuple[float, float]:
    """Decisions a second of all processes, and the share of starts."""
    with ThreadPoolExecutor(workers) as threads:
        found = list(
            threads.map(lambda k: _episodes(request, 1000 * k, seconds, space), range(workers))
        )
    rate = sum(decisions / total for decisions, total, _ in found)
    return rate, sum(start / total for _, total, start in found) / workers


def _episodes(
    request: tuple[str, dict[str, Any]], seed: int, seconds: float, space: Any
) -> tuple[int, float, float]:
    """Decisions of whole episodes, their time, and that of starts [s]."""
    random = np.random.default_rng(seed)
    decisions, starting, begin = 0, 0.0, perf_counter()
    while perf_counter() - begin < seconds:
        asked = perf_counter()
        text = json.dumps([*request, seed + decisions])
        with subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, text], stdout=subprocess.PIPE
        ) as one:
            try:
                port = one.stdout.readline() if one.stdout is not None else b""
                starting += perf_counter() - asked
                if not port:
                    raise WorkerError(f"No process could be started for '{request[0]}'.")
                with ServerProxy(f"http://127.0.0.1:{int(port)}") as server:
                    ended = False
                    while not ended:
                        action = random.uniform(space.low, space.high).tolist()
                        answer: Any = server.step(action)
                        ended = bool(answer[2])
                        decisions += 1
            finally:
                one.kill()
    return decisions, perf_counter() - begin, starting


def show_learning(found: Sequence[Throughput]) -> None:
    """Print throughputs of environments."""
    table = Table(
        title=f"Decisions a second with {found[0].workers} processes",
        caption="New process: one for each episode, and the share of its time for starts.",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("", overflow="fold")
    for column in ("here", "new process", "starts", "ratio", "steps/s"):
        table.add_column(column, justify="right")
    for one in found:
        table.add_row(
            one.environment,
            f"{one.rate:.4g}",
            f"{one.separate:.3g}",
            f"{one.starting:.0%}",
            f"{one.ratio:.3g}",
            f"{one.rate * one.steps:.4g}",
        )
    Console().print(table)


def learning_throughput(
    environments: Annotated[
        list[str],
        typer.Argument(
            metavar="ENV...", help="Scene files with LEARNING, or ids such as softctl/Trunk-v0."
        ),
    ],
    workers: Annotated[int, typer.Option(help="Processes, of either way.", min=1)] = 2,
    seconds: Annotated[float, typer.Option(help="Length of a turn in s.", min=1.0)] = 20.0,
    plugin: Plugin = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure decisions a second, beside a new process for each episode, in turns."""
    load_plugins(plugin, "embedded")
    show, found = Terminal(quiet=quiet or as_json), []
    for name in environments:
        maker = maker_of(name)
        exact = {"parameters": {"exact": True}} if getattr(maker, "exact", None) else {}
        with show.bar(f"Measuring {maker.name}", 2 * ROUNDS) as advance:
            found.append(
                measure_throughput(maker, (name, exact), workers, seconds, progress=advance)
            )
    if as_json:
        print_json([each.to_dict() for each in found])
    elif not quiet:
        show_learning(found)


app = command_app(
    learning_throughput,
    "python -m benchmarks.learning_throughput scenes/trunk.py",
    "python -m benchmarks.learning_throughput softctl/LaserArm-v0 softctl/Finger-v0 --workers 2",
)

if __name__ == "__main__":
    run_app(app)
