"""A session in a child process: a process can run only one backend."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import Any

from sofa_softctl.errors import BackendError, SoftctlError
from sofa_softctl.scene.backend import find_backend
from sofa_softctl.scene.devices import keep_devices_closed
from sofa_softctl.scene.session import Session
from sofa_softctl.units import symbol

LAST_LINES = 12
"""Lines of what a process printed that are shown when it fails."""


class BackendProcess:
    """A scene on one backend; use as a context, which ends the process.

    Args:
        scene: Scene file.
        backend: 'embedded' or 'sofa'.
        parameters: Values of createScene's parameters.
        prepare: Called in the process when its backend is chosen, before the scene is loaded, for
            instance to load plugins; it must be picklable.

    Raises:
        SoftctlError: what the session raised, or that its process died, with its last lines.
    """

    def __init__(
        self,
        scene: Path,
        backend: str,
        parameters: Mapping[str, Any],
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self.backend = backend
        handle, name = tempfile.mkstemp(prefix="softctl-", suffix=".log")
        os.close(handle)
        self._log = Path(name)
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve,
            args=(theirs, str(self._log), str(scene), backend, dict(parameters), prepare),
            daemon=True,
        )
        self._process.start()
        theirs.close()
        try:
            self.about: dict[str, Any] = self._receive()
        except BaseException:
            self.__exit__()
            raise

    def steps(self, count: int) -> list[tuple[float, dict[str, Any]]]:
        """Do some steps: wall time [s] and positions of every state, after each."""
        self._connection.send(count)
        found: list[tuple[float, dict[str, Any]]] = self._receive()
        return found

    def phases(self) -> dict[str, float]:
        """Wall time of each phase so far [s]."""
        self._connection.send(0)
        found: dict[str, float] = self._receive()
        return found

    def _receive(self) -> Any:
        try:
            good, value = self._connection.recv()
        except EOFError as error:
            self._process.join()
            code = self._process.exitcode or 0
            how = f"was killed by {signal.Signals(-code).name}" if code < 0 else "ended"
            raise BackendError(
                f"The process of the backend '{self.backend}' {how}.\n{self._said()}"
            ) from error
        if good:
            return value
        raise SoftctlError(f"Backend '{self.backend}': {value}")

    def _said(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()
        return "\n".join(lines[-LAST_LINES:])

    def __enter__(self) -> BackendProcess:
        return self

    def __exit__(self, *exception: object) -> None:
        self._connection.close()
        self._process.join(timeout=10)
        self._process.kill()
        self._log.unlink(missing_ok=True)


def _serve(
    connection: Connection,
    log: str,
    scene: str,
    backend: str,
    parameters: dict[str, Any],
    prepare: Callable[[], None] | None,
) -> None:
    """The process: answers until the connection closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the parent, which ends this one
    with open(log, "wb", buffering=0) as file:  # what SOFA and scenes print must not mix in
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        find_backend(backend)
        if prepare is not None:
            prepare()
        with Session(
            scene, backend=backend, parameters=parameters, add=keep_devices_closed
        ) as session:
            about = {
                "backend": session.backend.describe(),
                "dofs": session.dof_count(),
                "dt": session.dt,
                "time_unit": symbol(session.units, "time"),
                "duration": session.duration,
                "positions": session.positions(),
            }
            connection.send((True, about))
            while True:
                count = connection.recv()
                answer = [_step(session) for _ in range(count)] if count else session.phases()
                connection.send((True, answer))
    except EOFError:
        pass
    except Exception as error:
        name = "" if isinstance(error, SoftctlError) else f"{type(error).__name__}: "
        connection.send((False, f"{name}{error}"))
    sys.stdout.flush()
    os._exit(0)  # SOFA may abort when Python cleans up after it


def _step(session: Session) -> tuple[float, dict[str, Any]]:
    start = perf_counter()
    session.step()
    return perf_counter() - start, session.positions()
