"""Compilation of kernels that a run will need, by other processes during the run.

numba compiles on one core. `kernels.json` lists, for each recorded scene, the modules with kernels
that it imports and the kernels that it compiles, in order. When a process misses its first kernel,
the recorded scene whose modules are most like its own predicts what follows, and helpers on the
other cores compile that from the end. They meet in the middle: `cache` lets a process wait
for a kernel that another one has begun. A wrong prediction costs time of idle cores, and no result.

`python -m benchmarks.kernel_list` writes the list.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

VARIABLE = "SOFTCTL_COMPILE_PROCESSES"
"""Environment variable: number of helpers; by default one for each further core, at most 3.

With 0, nothing is predicted or announced, as in tests and in helpers.
"""
HELPERS_MAX = 3
"""More would wait for each other: few kernels are compiled at the same time."""
PACKAGE = "sofa_softctl."
"""Left out at the beginning of modules' names."""
_LIST = Path(__file__).with_name("kernels.json")


class RecordedKernel(NamedTuple):
    """A kernel of `kernels.json`."""

    module: str
    """Module of the kernel, below the package."""
    name: str
    arguments: list[Any]
    """Argument types, as `types` writes them."""

    def is_imported(self) -> bool:
        """Return True if its module is imported."""
        return PACKAGE + self.module in sys.modules

    def kernel(self) -> Any:
        """Return the kernel; its module is imported."""
        return getattr(importlib.import_module(PACKAGE + self.module), self.name)

    def types(self) -> tuple[Any, ...]:
        """Return numba's types of its arguments."""
        from sofa_softctl.base.kernels.types import decode

        return tuple(map(decode, self.arguments))

    def name_in_cache(self) -> str:
        """Return the name of its file."""
        return str(self.kernel().name_in_cache(self.types()))


class CompileAhead:
    """Helpers of this process; none while there are no idle cores."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        """Imported modules with kernels."""
        self.on_start: Callable[[int, Callable[[], int]], None] = lambda count, left: None
        """Called with the number of predicted kernels, and a function that counts those left."""
        self._predicted: frozenset[str] = frozenset()
        self._helpers: list[subprocess.Popen[str]] = []

    def kernel_is_missing(self) -> None:
        """Start helpers if a recorded scene predicts what this process will need."""
        from sofa_softctl.base.kernels.cache import CACHE

        if os.environ.get(VARIABLE) == "0" or self.modules == self._predicted:
            return
        if any(helper.poll() is None for helper in self._helpers):
            return
        self._predicted = frozenset(self.modules)
        missing = _find_missing(filter(RecordedKernel.is_imported, predict(self.modules)))
        if len(missing) < 2:
            return
        try:
            CACHE.check()
        except OSError:  # no process would find what helpers compile
            return
        self.on_start(len(missing), lambda: sum(not CACHE.has(name) for name in missing))
        atexit.register(self._stop)
        for _ in range(_helper_count()):
            with contextlib.suppress(OSError):
                self._helpers.append(start_helper(list(missing.values())[::-1]))

    def compile_all(self) -> tuple[int, int, int]:
        """Compile every recorded kernel on all cores; return the numbers of ready, new and all.

        Ends when all are compiled, or when nothing more can be compiled; Ctrl-C ends it early.

        Raises:
            OSError: Kernels are missing, and the folder cannot take them.
        """
        from sofa_softctl.base.kernels.cache import CACHE

        recorded = _list()["kernels"]
        missing = _find_missing(recorded)
        if missing:
            CACHE.check()
            self.on_start(len(missing), lambda: sum(not CACHE.has(name) for name in missing))
            count = len(os.sched_getaffinity(0))
            self._helpers = [start_helper(list(missing.values())) for _ in range(count)]
            try:
                for helper in self._helpers:
                    helper.wait()
            finally:
                self._stop()
        compiled = sum(CACHE.has(name) for name in missing)
        return len(recorded) - len(missing) + compiled, compiled, len(recorded)

    def _stop(self) -> None:
        for helper in self._helpers:
            helper.terminate()
        for helper in self._helpers:
            helper.wait()
        self._helpers.clear()


def predict(modules: Iterable[str]) -> list[RecordedKernel]:
    """Return the kernels of the recorded scene with the most similar set of modules.

    Similarity is the size of the intersection divided by the size of the union (Jaccard index).
    """
    names = {module.removeprefix(PACKAGE) for module in modules}
    best: dict[str, Any] = {}
    best_similarity = 0.0
    for scene in _list()["scenes"]:
        recorded = set(scene["modules"])
        similarity = len(names & recorded) / len(names | recorded)
        if similarity > best_similarity:
            best, best_similarity = scene, similarity
    kernels = _list()["kernels"]
    return [kernels[index] for index in best.get("kernels", ())]


def start_helper(kernels: Sequence[RecordedKernel]) -> subprocess.Popen[str]:
    """Start a process that compiles these kernels, except those that another one works at."""
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    helper = subprocess.Popen(
        [sys.executable, "-P", "-m", "sofa_softctl.base.kernels.compile_ahead", str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": path, VARIABLE: "0"},
    )
    assert helper.stdin is not None
    json.dump(list(kernels), helper.stdin)
    helper.stdin.close()
    return helper


def compile_recorded(kernels: Iterable[RecordedKernel], *, parent: int) -> None:
    """Compile recorded kernels; end early when the process of number `parent` has ended."""
    for recorded in kernels:
        if os.getppid() != parent:
            return
        with contextlib.suppress(Exception):  # a list of another version: compiled when called
            recorded.kernel().compile_unless_locked(recorded.types())


def _find_missing(kernels: Iterable[RecordedKernel]) -> dict[str, RecordedKernel]:
    """Return the kernels that are missing in the cache, by the names that they will have there."""
    from sofa_softctl.base.kernels.cache import CACHE

    named: dict[str, RecordedKernel] = {}
    for recorded in kernels:
        with contextlib.suppress(Exception):  # a list of another version
            named[recorded.name_in_cache()] = recorded
    return {name: recorded for name, recorded in named.items() if not CACHE.has(name)}


@cache
def _list() -> Any:
    try:
        content = json.loads(_LIST.read_text())
    except FileNotFoundError:
        return {"scenes": [], "kernels": []}
    content["kernels"] = [RecordedKernel(*row) for row in content["kernels"]]
    return content


def _helper_count() -> int:
    cores = len(os.sched_getaffinity(0))
    number = os.environ.get(VARIABLE, "").strip()
    if number.isdecimal():
        return min(int(number), cores)
    if number:
        from sofa_softctl.base.kernels.cache import print_once

        print_once(f"{VARIABLE} is '{number}', expected a whole number from 0: it is not used.")
    if not os.path.basename(sys.executable).startswith("python"):  # such as runSofa
        return 0
    return min(cores - 1, HELPERS_MAX)


AHEAD = CompileAhead()
"""Helpers of this process."""

if __name__ == "__main__":
    rows = json.load(sys.stdin)
    compile_recorded([RecordedKernel(*row) for row in rows], parent=int(sys.argv[1]))
