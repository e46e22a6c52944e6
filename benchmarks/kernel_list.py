"""Write the list of kernels that scenes compile, `sofa_softctl/base/kernels/kernels.json`.

Runs each scene for a few steps in a process of its own and records which kernels it makes ready,
callees first. To be run after kernels, or scenes, have changed: python -m benchmarks.kernel_list
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LIST = ROOT / "sofa_softctl" / "base" / "kernels" / "kernels.json"
STEPS = 4
"""Steps of each scene: the first contacts of most appear within them."""


def record(commands: list[list[str]]) -> dict:
    """The list, from the command lines of scenes."""
    callees: dict[str, list[str]] = {}
    scenes = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "SOFTCTL_KERNEL_CACHE": os.path.join(folder, "cache"),
            "SOFTCTL_COMPILE_PROCESSES": "0",
        }
        for arguments in commands:
            out = os.path.join(folder, "kernels.json")
            process = subprocess.run(
                [sys.executable, "-m", "benchmarks.kernel_list", "--watch", out, *arguments],
                env=environment,
                cwd=ROOT,
                capture_output=True,
                text=True,
            )
            if process.returncode:
                print(process.stdout, process.stderr, file=sys.stderr)
            watched = json.loads(Path(out).read_text())
            for kernel, below in watched["compiled"]:
                if len(below) >= len(callees.get(kernel, ())):  # loaded: none are seen
                    callees[kernel] = below
            scenes.append((arguments[1], watched["modules"], watched["called"]))
            print(f"{arguments[1]}: {len(watched['called'])} kernels called", file=sys.stderr)
    order: dict[str, int] = {}
    rows = []
    for name, modules, called in scenes:
        indices = []
        for kernel in called:
            for needed in [*_below(kernel, callees), kernel]:
                index = order.setdefault(needed, len(order))
                if index not in indices:
                    indices.append(index)
        rows.append({"scene": name, "modules": modules, "kernels": indices})
    return {"scenes": rows, "kernels": [json.loads(kernel) for kernel in order]}


def _below(kernel: str, callees: dict[str, list[str]]) -> list[str]:
    below: list[str] = []
    for callee in callees.get(kernel, ()):
        below += [*_below(callee, callees), callee]
    return list(dict.fromkeys(below))


def watch(out: str, arguments: list[str]) -> None:
    """Run a command line, and write which kernels it made ready."""
    from numba.core import sigutils

    from sofa_softctl.base.kernels.cached import CachedKernel
    from sofa_softctl.base.kernels.compile_ahead import AHEAD, PACKAGE
    from sofa_softctl.base.kernels.types import encode
    from sofa_softctl.cli.app import main

    compiled: list[tuple[str, list[str]]] = []
    called: list[str] = []
    open_kernels: list[list[str]] = []
    compile_kernel = CachedKernel.compile

    def compile_and_note(self: Any, sig: object) -> object:
        types = tuple(sigutils.normalize_signature(sig)[0])
        try:
            module = self.__module__.removeprefix(PACKAGE)
            row = json.dumps([module, self.__name__, [encode(t) for t in types]])
        except TypeError:
            return compile_kernel(self, sig)
        if open_kernels and row not in open_kernels[-1]:
            open_kernels[-1].append(row)
        elif not open_kernels and row not in called:
            called.append(row)
        if types in self.overloads:
            return compile_kernel(self, sig)
        open_kernels.append([])
        try:
            return compile_kernel(self, sig)
        finally:
            compiled.append((row, open_kernels.pop()))

    CachedKernel.compile = compile_and_note  # type: ignore[method-assign]
    sys.argv = ["softctl", *arguments]
    try:
        main()
    finally:
        names = {module for module in AHEAD.modules if module.startswith(PACKAGE)}
        modules = sorted(name.removeprefix(PACKAGE) for name in names)
        content = {"modules": modules, "compiled": compiled, "called": called}
        Path(out).write_text(json.dumps(content))


def write(content: dict) -> None:
    """Write the list, a kernel a line."""
    kernels = ",\n".join(json.dumps(row, separators=(",", ":")) for row in content["kernels"])
    scenes = ",\n".join(json.dumps(row, separators=(",", ":")) for row in content["scenes"])
    LIST.write_text(f'{{"scenes": [\n{scenes}\n],\n"kernels": [\n{kernels}\n]}}\n')


if __name__ == "__main__":
    if sys.argv[1:2] == ["--watch"]:
        watch(sys.argv[2], sys.argv[3:])
    else:
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("scene", nargs="*", help="instead of all of scenes/")
        every = [f"scenes/{f.name}" for f in sorted((ROOT / "scenes").glob("*.py"))]
        names = parser.parse_args().scene or every
        for missing in (name for name in names if not (ROOT / name).is_file()):
            parser.error(f"there is no scene '{missing}' in {ROOT}: the list stays as it was.")
        write(record([["run", name, "--steps", str(STEPS)] for name in names]))
