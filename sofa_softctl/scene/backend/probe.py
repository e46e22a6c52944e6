"""Import SOFA in a child process first: a broken one may end the interpreter.

Run as a module it prints, line by line, the stages that it came through, and then what failed.
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
"""What is tried, in this order: its modules and plugins; its numbers in Python; a simulation."""
TIMEOUT = 120.0
"""Seconds after which a process that hangs is ended."""
MARK = "softctl-probe:"
LINES = 6
"""As many lines of a crash are shown."""


@dataclass(frozen=True)
class SofaProbe:
    """Result of a trial import."""

    passed: tuple[str, ...]
    """Stages that went well, of STAGES."""
    description: str = ""
    """What `Backend.describe` says of it; empty when it cannot be imported."""
    error: str = ""
    """What failed, or how the process ended; empty when all went well."""
    crashed: bool = False
    """Whether the process ended in the middle of something."""
    last_lines: str = ""
    """What it printed when it crashed."""

    @property
    def good(self) -> bool:
        """Whether SOFA can be used."""
        return self.passed == STAGES


def probe() -> SofaProbe:
    """Import SOFA, load its plugins, read an array and do a step, in another process."""
    command = [sys.executable, "-X", "faulthandler", "-P", "-m", "sofa_softctl.scene.backend.probe"]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "SOFTCTL_BACKEND": "sofa"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT,
            errors="replace",
            check=False,
        )
    except subprocess.TimeoutExpired:
        return SofaProbe((), error=f"SOFA did not answer within {TIMEOUT:g} s.", crashed=True)
    return read(done.stdout, done.returncode)


def read(output: str, status: int) -> SofaProbe:
    """Interpret the output and exit status of the child process."""
    lines = output.splitlines()
    said = dict(
        line.removeprefix(MARK).strip().partition(" ")[::2]
        for line in lines
        if line.startswith(MARK)
    )
    passed = tuple(stage for stage in STAGES if stage in said)
    description = said.get("import", "")
    if passed == STAGES or "error" in said:
        return SofaProbe(passed, description, said.get("error", ""))
    how = f"ended with status {status}"
    if status < 0:
        how = f"was ended by the signal {signal.Signals(-status).name}"
    error = f"the Python process {how} at the stage '{STAGES[len(passed)]}'"
    return SofaProbe(passed, description, error, crashed=True, last_lines=_telling(lines))


def _telling(lines: list[str]) -> str:
    """The first lines of what Python or SOFA say at a crash, or the last ones of all."""
    noise = (MARK, "[INFO]", "-----")
    lines = [line for line in lines if line.strip() and not line.startswith(noise)]
    ours = ("<frozen ", "/importlib/", "/sofa_softctl/scene/")
    lines = [line for line in lines if not any(sign in line for sign in ours)]
    crash = (
        at for at, line in enumerate(lines) if line.startswith(("Fatal Python", "########## SIG"))
    )
    start = next(crash, max(len(lines) - LINES, 0))
    return "\n".join(lines[start : start + LINES])


def _try_all() -> None:
    backend = find_backend("sofa")
    _say("import", backend.describe())
    Sofa = backend.Sofa
    root = Sofa.Core.Node("root")
    root.addObject("DefaultAnimationLoop")
    given = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    state = root.addObject("MechanicalObject", position=given)
    found = state.position.array().tolist()
    if found != given:
        raise BackendError(f"SOFA shows wrong numbers in arrays: {found} instead of {given}.")
    _say("arrays")
    Sofa.Simulation.init(root)
    Sofa.Simulation.animate(root, 0.01)
    _say("step")


def _say(what: str, text: str = "") -> None:
    print(f"\n{MARK} {what} {' '.join(text.split())}", flush=True)


def _main() -> None:
    try:
        _try_all()
    except Exception as error:
        said = str(error).removesuffix(WITHOUT)  # the doctor does not refer to itself
        _say("error", said if isinstance(error, BackendError) else repr(error))
    os._exit(0)  # SOFA may abort when Python cleans up after it


if __name__ == "__main__":
    _main()
