"""The movie of one run of a study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from sofa_softctl.batch.execution.run_one import Task, run_one
from sofa_softctl.batch.study.row import Row
from sofa_softctl.errors import SoftctlError
from sofa_softctl.scene.session.run import Observer

if TYPE_CHECKING:
    from sofa_softctl.scene.session.session import Session
    from sofa_softctl.view.movie.capture import Camera


def film(task: Task, path: Path) -> tuple[Row, str]:
    """Execute a run of a study and make a movie of it, up to its failure or divergence.

    Args:
        task: The run.
        path: Movie to write.

    Returns:
        The row, and the reason for having no movie, or "".
    """
    operator = _Operator(path)
    row = run_one(task, [operator])
    camera = operator.camera
    if camera is None or not camera.frames:
        return row, str(row.get("reason") or "it has no scene that can be shown")
    try:
        camera.save()
    except (SoftctlError, ValueError) as error:
        return row, str(error)
    return row, ""


class _Operator(Observer):
    """Observer that films a run until it diverges: coordinates beyond 20 times the first ones."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.camera: Camera | None = None

    @override
    def begin(self, session: Session) -> None:
        from sofa_softctl.view.movie.capture import Camera

        self.camera = Camera(session, self._path)
        self._coordinate_max = 20.0 * _greatest_coordinate(session)

    @override
    def step(self, session: Session, count: int) -> None:
        if self.camera is not None and _greatest_coordinate(session) <= self._coordinate_max:
            self.camera.capture_frame()


def _greatest_coordinate(session: Any) -> float:
    """Return the greatest absolute coordinate of all positions."""
    return max(
        (float(np.abs(x).max(initial=0.0)) for x in session.positions().values()), default=0.0
    )
