"""Tries SOFA in a process of its own, as what is wrong with it may end the interpreter.

Run as a module it prints, line by line, the stages that it came through, and then what failed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass

STAGES = ("import", "plugins", "arrays", "step")
"""What is tried, in this order."""
TIMEOUT = 120.0
"""Seconds after which a process that hangs is ended."""
MARK = "softctl-probe:"


@dataclass(frozen=True)
class Probe:
    """How far SOFA came."""

    passed: tuple[str, ...]
    """Stages that went well, of STAGES."""
    error: str
    """What failed, or how the process ended; empty when all went well."""
    last_lines: str
    """The end of what was printed, for an error that nobody foresaw."""

    @property
    def good(self) -> bool:
        """Whether SOFA can be used."""
        return self.passed == STAGES


def probe() -> Probe:
    """Import SOFA, load its plugins, read an array and do a step, in another process."""
    command = [sys.executable, "-m", "sofa_softctl.scene.sofa_probe"]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "SOFTCTL_BACKEND": "sofa"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT,
            errors="replace",
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Probe((), f"SOFA did not answer within {TIMEOUT:g} s.", "")
    lines = done.stdout.splitlines()
    marked = [line.removeprefix(MARK).strip() for line in lines if line.startswith(MARK)]
    passed = tuple(stage for stage in STAGES if stage in marked)
    error = next((line.removeprefix("error ") for line in marked if line.startswith("error ")), "")
    if not error and passed != STAGES:
        stage = STAGES[len(passed)]
        code = done.returncode
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        error = f"the Python process {how} at the stage '{stage}'."
    return Probe(passed, error, "\n".join(lines[-8:]) if error else "")


def _try_all() -> None:
    from sofa_softctl.scene.backend import find_backend

    Sofa = find_backend("sofa").Sofa
    for stage in STAGES[:2]:
        _passed(stage)
    root = Sofa.Core.Node("root")
    root.addObject("DefaultAnimationLoop")
    state = root.addObject("MechanicalObject", position=[[0.0, 0.0, 0.0]])
    state.position.value.sum()
    _passed("arrays")
    Sofa.Simulation.init(root)
    Sofa.Simulation.animate(root, 0.01)
    _passed("step")


def _passed(stage: str) -> None:
    print(f"\n{MARK} {stage}", flush=True)


def _main() -> None:
    try:
        _try_all()
    except Exception as error:
        text = " ".join(str(error).split())
        print(f"\n{MARK} error {text}", flush=True)
    os._exit(0)  # SOFA may abort when Python cleans up after it


if __name__ == "__main__":
    _main()
