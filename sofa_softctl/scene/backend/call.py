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

from sofa_softctl.base.processes import first_calls
from sofa_softctl.errors import BackendError, SoftctlError
from sofa_softctl.scene.backend.backend import CHOICES, find_backend, nothing_found
from sofa_softctl.scene.backend.installation import find_installation

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
    with BackendChild(backend, _answer, first_calls(leave_out="backend"), function, given) as child:
        return child.receive()


class BackendChild:
    """A process with a backend of its own; use as a context, which ends the process.

    Args:
        backend: 'embedded', 'sofa' or 'auto'.
        serve: Called in the process with its end of a pipe, when its backend is chosen: sends
            answers (True, value). What it raises is raised by `receive`.
        given: Further arguments of it; all picklable.
    """

    def __init__(self, backend: str, serve: Callable[..., None], *given: Any) -> None:
        self.backend = backend
        handle, name = tempfile.mkstemp(prefix="softctl-", suffix=".log")
        os.close(handle)
        self._log = Path(name)
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_main, args=(theirs, str(self._log), backend, serve, given), daemon=True
        )
        self._process.start()
        theirs.close()

    def send(self, value: Any) -> None:
        """Send to the process."""
        self._connection.send(value)

    def receive(self) -> Any:
        """The next answer.

        Raises:
            SoftctlError: what the process raised, or that it died, with its last lines.
        """
        try:
            good, value = self._connection.recv()
        except EOFError as error:
            self._process.join()
            code = self._process.exitcode or 0
            how = f"was killed by {signal.Signals(-code).name}" if code < 0 else "ended"
            said = self._log.read_text(errors="replace").splitlines()[-LAST_LINES:]
            raise BackendError(
                "\n".join((f"The process of the backend '{self.backend}' {how}.", *said))
            ) from error
        if good:
            return value
        raise SoftctlError(f"Backend '{self.backend}': {value}")

    def __enter__(self) -> BackendChild:
        return self

    def __exit__(self, kind: type[BaseException] | None = None, *rest: object) -> None:
        self._connection.close()
        if kind is None:  # at an error, as at Ctrl-C, nobody waits for what it does
            self._process.join(timeout=10)
        self._process.kill()
        self._log.unlink(missing_ok=True)


def _answer(
    connection: Connection,
    first: list[Callable[[], object]],
    function: Callable[..., Any],
    given: tuple[Any, ...],
) -> None:
    """In the process: what a function returns."""
    for call in first:
        call()
    connection.send((True, function(*given)))


def _main(
    connection: Connection,
    log: str,
    backend: str,
    serve: Callable[..., None],
    given: tuple[Any, ...],
) -> None:
    """The process: serves until it is done, or the connection closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the parent, which ends this one
    with open(log, "wb", buffering=0) as file:  # what SOFA and scenes print must not mix in
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        find_backend(backend)
        serve(connection, *given)
    except EOFError:
        pass
    except Exception as error:
        name = "" if isinstance(error, SoftctlError) else f"{type(error).__name__}: "
        connection.send((False, f"{name}{error}"))
    connection.close()
    sys.stdout.flush()
    os._exit(0)  # SOFA may abort when Python cleans up after it
