"""Session in a child process, since a process can run only one backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
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

    def steps(self, count: int) -> list[tuple[float, dict[str, Any]]]:
        """Run steps, and return wall time [s] and positions of all states for each."""
        self.send(count)
        results: list[tuple[float, dict[str, Any]]] = self.receive()
        return results

    def phases(self) -> dict[str, float]:
        """Return the total wall time of each phase [s]."""
        self.send(0)
        seconds: dict[str, float] = self.receive()
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
    with Session(scene, backend=backend, parameters=parameters, add=keep_devices_closed) as session:
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


def _step(session: Session) -> tuple[float, dict[str, Any]]:
    start = perf_counter()
    session.step()
    return perf_counter() - start, session.positions()
