"""Decisions a second of an environment, beside its scene in a new process for each episode."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter
from typing import Any
from xmlrpc.client import ServerProxy

import numpy as np

from sofa_softctl.errors import WorkerError
from sofa_softctl.learning.environments import SAME_STEP, Maker

ROBOTS = 64
"""Robots of a surrogate that take a step together."""
ROUNDS = 3
"""Turns of each way."""
_PROGRAM = """
import json, sys
from xmlrpc.server import SimpleXMLRPCServer

import numpy as np

from sofa_softctl.learning.environments import maker_of

name, options, seed = json.loads(sys.argv[1])
env = maker_of(name, **options).make()
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
    """Decisions of all together, in processes that stay and reset by snapshots [1 / s]."""
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
    vector = maker.vector(ROBOTS if maker.batched else workers, 0 if maker.batched else workers)
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
    env = maker.make()
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
