"""The movie of one run of a study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.batch.execution.run_one import Task, run_one
from sofa_softctl.batch.study.row import Row
from sofa_softctl.errors import SoftctlError

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
    from sofa_softctl.view.movie.capture import Camera

    cameras: list[Camera] = []

    def watch(session: Any) -> Callable[[int], None]:
        cameras.append(Camera(session, path))
        farthest = FARTHEST * _reach(session)

        def look(done: int) -> None:
            if _reach(session) <= farthest:
                cameras[0].look()

        return look

    row = run_one(task, watch)
    if not cameras or not cameras[0].frames:
        return row, str(row.get("reason") or "it has no scene that can be shown")
    try:
        cameras[0].save()
    except (SoftctlError, ValueError) as error:
        return row, str(error)
    return row, ""


def _reach(session: Any) -> float:
    """Greatest coordinate of all positions."""
    return max(
        (float(np.abs(x).max(initial=0.0)) for x in session.positions().values()), default=0.0
    )
