"""Kernels that a run will need, compiled by other processes while it goes on.

numba compiles on one core. `kernels.json` lists, for each recorded scene, the modules with kernels
that it imports and the kernels that it compiles, in order. When a process misses its first kernel,
the recorded scene whose modules are most like its own predicts what follows, and helpers on the
other cores compile that from the end. They meet in the middle: `kernel_cache` lets a process wait
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

VARIABLE = "SOFTCTL_COMPILE_PROCESSES"
"""Environment variable: number of helpers; by default one for each further core, at most 3.

0: none, and nothing is predicted or announced, as in tests and in helpers.
"""
HELPERS_MAX = 3
"""More would wait for each other: few kernels are compiled at the same time."""
PACKAGE = "sofa_softctl."
"""Left out at the beginning of modules' names."""
_LIST = Path(__file__).with_name("kernels.json")


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
        from sofa_softctl._internal.kernel_cache import CACHE

        if os.environ.get(VARIABLE) == "0" or self.modules == self._predicted:
            return
        if any(helper.poll() is None for helper in self._helpers):
            return
        self._predicted = frozenset(self.modules)
        missing = {name: entry for entry, name in self._predict() if not CACHE.has(name)}
        if len(missing) < 2:
            return
        self.on_start(len(missing), lambda: sum(not CACHE.has(name) for name in missing))
        atexit.register(self._stop)
        for _ in range(_helper_count()):
            with contextlib.suppress(OSError):
                self._helpers.append(start_helper(list(missing.values())[::-1]))

    def compile_all(self) -> tuple[int, int]:
        """Compile every recorded kernel on all cores; return how many were missing, and all.

        Ends when they are there, or when nothing more can be compiled; Ctrl-C ends it early.
        """
        from sofa_softctl._internal.kernel_cache import CACHE

        names: dict[str, Any] = {}
        for entry in _recorded()["kernels"]:
            with contextlib.suppress(Exception):  # a list of another version
                kernel = getattr(importlib.import_module(PACKAGE + entry[0]), entry[1])
                names[_name(kernel, entry)] = entry
        missing = {name: entry for name, entry in names.items() if not CACHE.has(name)}
        if missing:
            self.on_start(len(missing), lambda: sum(not CACHE.has(name) for name in missing))
            count = len(os.sched_getaffinity(0))
            self._helpers = [start_helper(list(missing.values())) for _ in range(count)]
            try:
                for helper in self._helpers:
                    helper.wait()
            finally:
                self._stop()
        return sum(CACHE.has(name) for name in missing), len(names)

    def _predict(self) -> Iterator[tuple[Any, str]]:
        """Kernels of imported modules that will be called, with their names in the cache."""
        for entry in predict(self.modules):
            with contextlib.suppress(Exception):  # a list of another version
                kernel = getattr(sys.modules[PACKAGE + entry[0]], entry[1])
                yield entry, _name(kernel, entry)

    def _stop(self) -> None:
        for helper in self._helpers:
            helper.terminate()
        for helper in self._helpers:
            helper.wait()
        self._helpers.clear()


def predict(modules: Iterable[str]) -> list[Any]:
    """Return the kernels of the recorded scene with the most similar set of modules.

    Similarity is the size of the intersection over that of the union (Jaccard index).
    """
    names = {module.removeprefix(PACKAGE) for module in modules}
    best: dict[str, Any] = {}
    best_similarity = 0.0
    for scene in _recorded()["scenes"]:
        recorded = set(scene["modules"])
        similarity = len(names & recorded) / len(names | recorded)
        if similarity > best_similarity:
            best, best_similarity = scene, similarity
    kernels = _recorded()["kernels"]
    return [kernels[index] for index in best.get("kernels", ())]


def start_helper(entries: Sequence[Any]) -> subprocess.Popen[str]:
    """Start a process that compiles these kernels, except those that another one works at."""
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    helper = subprocess.Popen(
        [sys.executable, "-P", "-m", "sofa_softctl._internal.compile_ahead", str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": path, VARIABLE: "0"},
    )
    assert helper.stdin is not None
    json.dump(list(entries), helper.stdin)
    helper.stdin.close()
    return helper


def compile_entries(entries: Iterable[Any], *, parent: int) -> None:
    """Compile recorded kernels; end early when the process of number `parent` has ended."""
    from sofa_softctl._internal.kernel_types import decode

    for module, name, arguments in entries:
        if os.getppid() != parent:
            return
        with contextlib.suppress(Exception):  # a list of another version: compiled when called
            kernel = getattr(importlib.import_module(PACKAGE + module), name)
            kernel.compile_unless_locked(tuple(map(decode, arguments)))


def _name(kernel: Any, entry: Any) -> str:
    from sofa_softctl._internal.kernel_types import decode

    name: str = kernel.name_in_cache(tuple(map(decode, entry[2])))
    return name


@cache
def _recorded() -> Any:
    try:
        return json.loads(_LIST.read_text())
    except FileNotFoundError:
        return {"scenes": [], "kernels": []}


def _helper_count() -> int:
    if os.environ.get(VARIABLE, "").isdigit():
        return int(os.environ[VARIABLE])
    if not os.path.basename(sys.executable).startswith("python"):  # such as runSofa
        return 0
    return min(len(os.sched_getaffinity(0)) - 1, HELPERS_MAX)


AHEAD = CompileAhead()
"""Helpers of this process."""

if __name__ == "__main__":
    compile_entries(json.load(sys.stdin), parent=int(sys.argv[1]))
