"""Session in a child process, since a process can run only one backend."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from sofa_softctl.scene.backend.call import BackendChild
from sofa_softctl.scene.graph.nodes import keep_devices_closed
from sofa_softctl.scene.session.session import Session
from sofa_softctl.units import symbol


class BackendProcess(BackendChild):
    """Process with a scene on one backend; a context that ends the process.

    Args:
        scene: Scene file.
        backend: 'embedded' or 'sofa'.
        parameters: Values of createScene's parameters.
        prepare: Called in the process when its backend is chosen, before the scene is loaded, for
            instance to load plugins; it must be picklable.

    Raises:
        SoftctlError: The session raised an error, or its process died, with its last lines.
    """

    def __init__(
        self,
        scene: Path,
        backend: str,
        parameters: Mapping[str, Any],
        prepare: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(backend, _serve, str(scene), backend, dict(parameters), prepare)
        try:
            self.about: dict[str, Any] = self.receive()
        except BaseException:
            self.__exit__()
            raise

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return function(session, *arguments); it runs in the process, so all must be picklable.

        Raises:
            SoftctlError: The function raised an error, or the process died.
        """
        self.send((function, arguments))
        return self.receive()

    def steps(self, count: int) -> list[tuple[float, dict[str, Any]]]:
        """Run steps, and return wall time [s] and positions of all states for each."""
        results: list[tuple[float, dict[str, Any]]] = self.call(_steps, count)
        return results

    def phases(self) -> dict[str, float]:
        """Return the total wall time of each phase [s]."""
        seconds: dict[str, float] = self.call(Session.phases)
        return seconds

    def __enter__(self) -> BackendProcess:
        return self


def _serve(
    connection: Connection,
    scene: str,
    backend: str,
    parameters: dict[str, Any],
    prepare: Callable[[], None] | None,
) -> None:
    """Serve requests in the process until the connection closes."""
    if prepare is not None:
        prepare()
    memory = peak_memory()
    with Session(
        scene, backend=backend, parameters=parameters, add=keep_devices_closed, history=0
    ) as session:
        about = {
            "backend": session.backend.describe(),
            "dofs": session.dof_count(),
            "dt": session.dt,
            "time_unit": symbol(session.units, "time"),
            "duration": session.duration,
            "positions": session.positions(),
            "memory": memory,
        }
        connection.send((True, about))
        while True:
            function, arguments = connection.recv()
            connection.send((True, function(session, *arguments)))


def _steps(session: Session, count: int) -> list[tuple[float, dict[str, Any]]]:
    return [(seconds, session.positions()) for seconds in time_steps(session, count)]


def time_steps(session: Session, count: int, cpu: bool = False) -> Iterator[float]:
    """Run steps one by one, and yield the wall time of each, or the processor time [s]."""
    now = process_time if cpu else perf_counter
    for _ in range(count):
        start = now()
        session.step()
        yield now() - start


def peak_memory() -> float:
    """Return the largest resident memory of this process until now [MB]; NaN if unknown."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return math.nan
    return next(
        (int(line.split()[1]) / 1e3 for line in status.splitlines() if "VmHWM" in line), math.nan
    )
