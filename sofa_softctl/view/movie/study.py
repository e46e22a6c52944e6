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

FARTHEST = 20.0
"""Greatest coordinate of a frame, as a multiple of that at the start: beyond, a run diverges."""


def film(task: Task, path: Path) -> tuple[Row, str]:
    """Do a run, and make a movie of it, up to where it failed or went beyond `FARTHEST`.

    Args:
        task: The run.
        path: Movie to write.

    Returns:
        The row, and why there is no movie; empty: there is one.
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
    """Points a camera at a run until its bodies are beyond `FARTHEST`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.camera: Camera | None = None

    @override
    def begin(self, session: Session) -> None:
        from sofa_softctl.view.movie.capture import Camera

        self.camera = Camera(session, self._path)
        self._farthest = FARTHEST * _reach(session)

    @override
    def step(self, session: Session, done: int) -> None:
        if self.camera is not None and _reach(session) <= self._farthest:
            self.camera.look()


def _reach(session: Any) -> float:
    """Greatest coordinate of all positions."""
    return max(
        (float(np.abs(x).max(initial=0.0)) for x in session.positions().values()), default=0.0
    )
