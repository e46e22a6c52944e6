"""Calls on another backend than this process's: in a process of their own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from sofa_softctl._internal.processes import first_calls
from sofa_softctl.errors import BackendError, SoftctlError
from sofa_softctl.scene.backend import CHOICES, find_backend, nothing_found
from sofa_softctl.scene.sofa.installation import find_installation

LAST_LINES = 12
"""Lines of what a process printed that are shown when it dies."""


def backend_of_runs(choice: str = "auto") -> str:
    """The backend that `softctl run --backend CHOICE` asks for: 'embedded', or 'auto' or 'sofa'.

    Where no SOFA is installed, 'auto' is 'embedded'.

    Raises:
        BackendError: there is no such backend, or SOFA is asked for and not installed.
    """
    if choice == "auto":
        choice = os.environ.get("SOFTCTL_BACKEND", "auto").lower()
    if choice not in CHOICES:
        raise BackendError(f"Unknown backend '{choice}'; known: {', '.join(CHOICES)}.")
    if choice != "embedded" and find_installation() is None:
        if choice == "sofa":
            raise BackendError(nothing_found())
        return "embedded"
    return choice


def call_on_backend(backend: str, function: Callable[..., Any], *given: Any) -> Any:
    """Call a function where `find_backend` gives a backend; here, where that is the one.

    A process of its own has this one's plugins, as workers have.

    Args:
        backend: As from `backend_of_runs`.
        function: The function; it, its arguments and what it returns must be picklable.
        given: Its arguments.

    Raises:
        BackendError: the backend cannot be had, or its process died, with its last lines.
        SoftctlError: what the function raised, with its text.
    """
    if backend == find_backend().name:
        return function(*given)
    with tempfile.TemporaryDirectory(prefix="softctl-") as folder:
        log = Path(folder) / "said.log"
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(
            target=_serve, args=(theirs, str(log), backend, function, given), daemon=True
        )
        process.start()
        theirs.close()
        try:
            good, value = ours.recv()
        except EOFError as error:
            process.join()
            code = process.exitcode or 0
            how = f"was killed by {signal.Signals(-code).name}" if code < 0 else "ended"
            said = "\n".join(log.read_text(errors="replace").splitlines()[-LAST_LINES:])
            raise BackendError(f"The process of the backend '{backend}' {how}.\n{said}") from error
        finally:
            ours.close()
            process.join(timeout=10)
            process.kill()
    if not good:
        raise SoftctlError(f"Backend '{backend}': {value}")
    return value


def _serve(
    connection: Connection, log: str, backend: str, function: Callable[..., Any], given: Any
) -> None:
    """The process: its answer is whether it went well, and what came out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the parent, which ends this one
    with open(log, "wb", buffering=0) as file:  # what SOFA and scenes print must not mix in
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        find_backend(backend)
        for call in first_calls(leave_out="backend"):
            call()
        connection.send((True, function(*given)))
    except Exception as error:
        name = "" if isinstance(error, SoftctlError) else f"{type(error).__name__}: "
        connection.send((False, f"{name}{error}"))
    connection.close()
    sys.stdout.flush()
    os._exit(0)  # SOFA may abort when Python cleans up after it
