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
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from numba import types

VARIABLE = "SOFTCTL_COMPILE_PROCESSES"
"""Environment variable: number of helpers; by default one for each further core, at most 3."""
HELPERS_MAX = 3
"""More would wait for each other: few kernels are compiled at the same time."""
PACKAGE = "sofa_softctl."
_LIST = Path(__file__).with_name("kernels.json")

on_start: Callable[[int], None] = lambda count: None  # noqa: E731
"""Called with the number of kernels that are to be compiled; the command line tells its user."""


class CompileAhead:
    """Helpers of this process; none while there are no idle cores."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self._predicted: frozenset[str] = frozenset()
        self._helpers: list[subprocess.Popen[str]] = []

    def kernel_is_missing(self) -> None:
        """Start helpers if a recorded scene predicts what this process will need."""
        if self.modules == self._predicted or any(h.poll() is None for h in self._helpers):
            return
        self._predicted = frozenset(self.modules)
        entries = predict(self.modules)
        if len(entries) < 2:
            return
        on_start(len(entries))
        for _ in range(_helper_count()):
            with contextlib.suppress(OSError):
                self._helpers.append(start_helper(entries[::-1]))
        atexit.register(self._stop)

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


def all_kernels() -> list[Any]:
    """Return every recorded kernel, callees first."""
    return list(_recorded()["kernels"])


def start_helper(entries: Sequence[Any]) -> subprocess.Popen[str]:
    """Start a process that compiles these kernels, except those that another one works at."""
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    helper = subprocess.Popen(
        [sys.executable, "-P", "-m", "sofa_softctl._internal.compile_ahead"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": path, VARIABLE: "0"},
    )
    assert helper.stdin is not None
    json.dump(list(entries), helper.stdin)
    helper.stdin.close()
    return helper


def compile_entries(entries: Iterable[Any]) -> None:
    """Compile recorded kernels; print a dot for each. Ends when the parent process has ended."""
    from sofa_softctl._internal.jit import CachedKernel

    parent = os.getppid()
    for module, name, arguments in entries:
        if os.getppid() != parent:
            return
        with contextlib.suppress(Exception):  # a list of another version: compiled when called
            kernel = getattr(importlib.import_module(PACKAGE + module), name)
            if isinstance(kernel, CachedKernel):
                kernel.compile_unless_locked(tuple(map(decode, arguments)))
        print(".", end="", flush=True)


def encode(kind: Any) -> Any:
    """Return one of numba's types as JSON; raise TypeError if it cannot be written."""
    match kind:
        case types.Array():
            form = [str(kind.dtype), kind.ndim, kind.layout, kind.mutable, kind.aligned]
            return ["array", *form]
        case types.NamedTuple() | types.NamedUniTuple():
            fields = kind.instance_class
            home = f"{fields.__module__.removeprefix(PACKAGE)}:{fields.__qualname__}"
            members: Any = kind
            return ["named tuple", home, *map(encode, members)]
        case types.BaseTuple():
            members = kind
            return ["tuple", *map(encode, members)]
        case types.Omitted() if isinstance(kind.value, bool | int | float | None):
            return ["omitted", kind.value]
        case types.Number() | types.Boolean() | types.NoneType():
            return str(kind)
    raise TypeError(f"{kind} cannot be written")


def decode(text: Any) -> Any:
    """Return one of numba's types from JSON."""
    namespace: Any = types
    if isinstance(text, str):
        return getattr(namespace, {"bool": "boolean"}.get(text, text))
    kind, *rest = text
    match kind:
        case "array":
            dtype, dimensions, layout, is_mutable, is_aligned = rest
            array: Any = types.Array
            return array(decode(dtype), dimensions, layout, not is_mutable, aligned=is_aligned)
        case "named tuple":
            module, _, name = rest[0].partition(":")
            fields = getattr(importlib.import_module(PACKAGE + module), name)
            return namespace.BaseTuple.from_types([decode(each) for each in rest[1:]], fields)
        case "tuple":
            return namespace.BaseTuple.from_types([decode(member) for member in rest])
    return namespace.Omitted(rest[0])


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
"""Of this process."""

if __name__ == "__main__":
    compile_entries(json.load(sys.stdin))
