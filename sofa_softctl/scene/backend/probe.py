"""Import SOFA in a child process first: a broken one may end the interpreter.

Run as a module it prints, line by line, the stages that it passed, and then the error.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass

from sofa_softctl.errors import BackendError
from sofa_softctl.scene.backend.backend import WITHOUT, find_backend

STAGES = ("import", "arrays", "step")
"""Stages in order: modules and plugins; SOFA's numbers in Python; a simulation."""
PROBE_TIMEOUT = 120.0
"""Time after which a process that hangs is ended [s]."""
MARK = "softctl-probe:"
CRASH_LINES_MAX = 6
"""Number of lines shown of a crash."""


@dataclass(frozen=True)
class SofaProbe:
    """Result of a trial import."""

    passed: tuple[str, ...]
    """Stages that went well, of STAGES."""
    description: str = ""
    """Text of `Backend.describe`, or "" if SOFA cannot be imported."""
    error: str = ""
    """Error, or the way in which the process ended; "" after success."""
    crashed: bool = False
    """Whether the process ended before it reported a result."""
    last_lines: str = ""
    """Output at the crash."""

    @property
    def good(self) -> bool:
        """Return True if SOFA can be used."""
        return self.passed == STAGES


def probe() -> SofaProbe:
    """Import SOFA, load its plugins, read an array and do a step, in another process."""
    command = [sys.executable, "-X", "faulthandler", "-P", "-m", "sofa_softctl.scene.backend.probe"]
    try:
        process = subprocess.run(
            command,
            env={**os.environ, "SOFTCTL_BACKEND": "sofa"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PROBE_TIMEOUT,
            errors="replace",
            check=False,
        )
    except subprocess.TimeoutExpired:
        return SofaProbe((), error=f"SOFA did not answer within {PROBE_TIMEOUT:g} s.", crashed=True)
    return read(process.stdout, process.returncode)


def read(output: str, status: int) -> SofaProbe:
    """Interpret the output and exit status of the child process."""
    lines = output.splitlines()
    texts = dict(
        line.removeprefix(MARK).strip().partition(" ")[::2]
        for line in lines
        if line.startswith(MARK)
    )
    stages = tuple(stage for stage in STAGES if stage in texts)
    description = texts.get("import", "")
    if stages == STAGES or "error" in texts:
        return SofaProbe(stages, description, texts.get("error", ""))
    fate = f"ended with status {status}"
    if status < 0:
        fate = f"was ended by the signal {signal.Signals(-status).name}"
    error = f"the Python process {fate} at the stage '{STAGES[len(stages)]}'"
    return SofaProbe(stages, description, error, crashed=True, last_lines=_crash_lines(lines))


def _crash_lines(lines: list[str]) -> str:
    """Return the first lines of the report of a crash by Python or SOFA, or the last lines."""
    noise = (MARK, "[INFO]", "-----")
    lines = [line for line in lines if line.strip() and not line.startswith(noise)]
    ours = ("<frozen ", "/importlib/", "/sofa_softctl/scene/")
    lines = [line for line in lines if not any(sign in line for sign in ours)]
    crash = (
        index
        for index, line in enumerate(lines)
        if line.startswith(("Fatal Python", "########## SIG"))
    )
    start = next(crash, max(len(lines) - CRASH_LINES_MAX, 0))
    return "\n".join(lines[start : start + CRASH_LINES_MAX])


def _try_all() -> None:
    backend = find_backend("sofa")
    _print_stage("import", backend.describe())
    Sofa = backend.Sofa
    root = Sofa.Core.Node("root")
    root.addObject("DefaultAnimationLoop")
    positions = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    state = root.addObject("MechanicalObject", position=positions)
    values = state.position.array().tolist()
    if values != positions:
        raise BackendError(f"SOFA shows wrong numbers in arrays: {values} instead of {positions}.")
    _print_stage("arrays")
    Sofa.Simulation.init(root)
    Sofa.Simulation.animate(root, 0.01)
    _print_stage("step")


def _print_stage(stage: str, text: str = "") -> None:
    print(f"\n{MARK} {stage} {' '.join(text.split())}", flush=True)


def _main() -> None:
    try:
        _try_all()
    except Exception as error:
        text = str(error).removesuffix(WITHOUT)  # the doctor does not refer to itself
        _print_stage("error", text if isinstance(error, BackendError) else repr(error))
    os._exit(0)  # SOFA may abort when Python cleans up after it


if __name__ == "__main__":
    _main()
