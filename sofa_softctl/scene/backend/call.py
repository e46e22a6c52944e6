"""Calls on another backend than this process's, in a child process."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

from sofa_softctl.base.machine import use_all_cores
from sofa_softctl.base.processes import first_calls
from sofa_softctl.errors import BackendError, SoftctlError
from sofa_softctl.scene.backend.backend import CHOICES, find_backend, missing_sofa_message
from sofa_softctl.scene.backend.installation import find_installation

LAST_LINES = 12
"""Number of output lines shown of a process that died."""


def backend_of_runs(choice: str = "auto") -> str:
    """Return the backend for `softctl run --backend CHOICE`: 'embedded', 'auto' or 'sofa'.

    Without an installed SOFA, 'auto' becomes 'embedded'.

    Raises:
        BackendError: the backend is unknown, or it is SOFA, which is not installed.
    """
    if choice == "auto":
        choice = os.environ.get("SOFTCTL_BACKEND", "auto").lower()
    if choice not in CHOICES:
        raise BackendError(f"Unknown backend '{choice}'; known: {', '.join(CHOICES)}.")
    if choice != "embedded" and find_installation() is None:
        if choice == "sofa":
            raise BackendError(missing_sofa_message())
        return "embedded"
    return choice


def call_on_backend(backend: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function on a backend: in this process if it has that backend, else in a child.

    The child process has this one's plugins, as workers have.

    Args:
        backend: Result of `backend_of_runs`.
        function: The function; it, its arguments and what it returns must be picklable.
        arguments: Passed to the function.

    Raises:
        BackendError: the backend cannot be had, or its process died, with its last lines.
        SoftctlError: the function failed; with the text of its error.
    """
    if backend == find_backend().name:
        return function(*arguments)
    with BackendChild(
        backend, _serve_call, first_calls(leave_out="backend"), function, arguments
    ) as child:
        return child.receive()


class BackendChild:
    """A child process with its own backend; a context that ends the process.

    Args:
        backend: 'embedded', 'sofa' or 'auto'.
        serve: Called in the process with its end of a pipe, after the choice of the backend;
            sends answers (True, value). Its errors are raised by `receive`.
        arguments: Further picklable arguments for `serve`.
    """

    def __init__(self, backend: str, serve: Callable[..., None], *arguments: Any) -> None:
        self.backend = backend
        handle, name = tempfile.mkstemp(prefix="softctl-", suffix=".log")
        os.close(handle)
        self._log = Path(name)
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        # Unpickled after the choice of the backend: the modules of some objects import Sofa.
        task = bytes(ForkingPickler.dumps((serve, arguments)))
        self._process = context.Process(
            target=_main, args=(theirs, str(self._log), backend, task), daemon=True
        )
        self._process.start()
        theirs.close()

    def send(self, value: Any) -> None:
        """Send to the process."""
        self._connection.send(value)

    def receive(self) -> Any:
        """Return the next answer.

        Raises:
            SoftctlError: the process raised an error, or died; with its last lines.
        """
        try:
            is_result, value = self._connection.recv()
        except EOFError as error:
            self._process.join()
            code = self._process.exitcode or 0
            fate = f"was killed by {signal.Signals(-code).name}" if code < 0 else "ended"
            last_lines = self._log.read_text(errors="replace").splitlines()[-LAST_LINES:]
            raise BackendError(
                "\n".join((f"The process of the backend '{self.backend}' {fate}.", *last_lines))
            ) from error
        if is_result:
            return value
        raise SoftctlError(f"Backend '{self.backend}': {value}")

    def __enter__(self) -> BackendChild:
        return self

    def __exit__(self, kind: type[BaseException] | None = None, *rest: object) -> None:
        self._connection.close()
        if kind is None:  # do not wait after an error or Ctrl-C
            self._process.join(timeout=10)
        self._process.kill()
        self._log.unlink(missing_ok=True)


def _serve_call(
    connection: Connection,
    first: list[Callable[[], object]],
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> None:
    """Send the result of a function; runs in the child process."""
    for call in first:
        call()
    connection.send((True, function(*arguments)))


def _main(connection: Connection, log: str, backend: str, task: bytes) -> None:
    """Serve in the child process until `serve` returns or the connection closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the parent, which ends this one
    with open(log, "wb", buffering=0) as file:  # what SOFA and scenes print must not mix in
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    use_all_cores()
    try:
        find_backend(backend)
        serve, arguments = pickle.loads(task)
        serve(connection, *arguments)
    except EOFError:
        pass
    except Exception as error:
        name = "" if isinstance(error, SoftctlError) else f"{type(error).__name__}: "
        connection.send((False, f"{name}{error}"))
    connection.close()
    sys.stdout.flush()
    os._exit(0)  # SOFA may abort when Python cleans up after it
