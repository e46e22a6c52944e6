"""Small scripts with kernels, each run by a fresh interpreter."""

import os
import subprocess
import sys
from pathlib import Path

import sofa_softctl

PACKAGE = Path(sofa_softctl.__file__).parent.parent

KERNEL = """
from numba.core import event
from sofa_softctl.base.jit import njit

with event.install_recorder("numba:compile") as compiles:
    @njit
    def double(x):
        return 2.0 * x
    print(double(21.0), len(compiles.buffer) // 2)
"""
"""Prints 42.0 and the number of functions that were compiled."""


def start(script, **environment):
    """A fresh interpreter at work."""
    command = [sys.executable, *(["-c", script] if isinstance(script, str) else [script])]
    paths = f"{PACKAGE}{os.pathsep}{environment.pop('PYTHONPATH', '')}"
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", **environment}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process):
    """Words that it printed, and its error stream."""
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return out.split(), errors


def run(script, **environment):
    """Words that a fresh interpreter prints."""
    return finish(start(script, **environment))[0]
