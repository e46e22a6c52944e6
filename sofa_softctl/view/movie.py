"""Movies and stills of animations, rendered without a screen by PyVista (extra [view])."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.errors import SoftctlError
from sofa_softctl.view.animation import Animation, Body, Line, Marker, frames_at
from sofa_softctl.view.files import replacing

Progress = Callable[[int, int], None]
"""Called with frames done and frames in all."""

SUFFIXES = (".gif", ".mp4")
VIEW_ANGLE = 25.0
"""Of the camera, over the picture's height [degree]."""
MARGIN = 1.12
"""Room around what is shown."""
GROUND = np.array([0.965, 0.972, 0.98])
"""Color behind everything; one color, so that a GIF stays small."""
SLACK, TAUT = np.array([0.24, 0.29, 0.37]), np.array([0.91, 0.26, 0.02])
"""Colors of a cable without tension and at the greatest tension of the movie."""
TRAIL = 0.25
"""Share of the movie's time after which a marker's trail has faded."""
SHARP = 35.0
"""Angle between faces from which an edge is drawn as an edge [degree]."""


def save_movie(
    animation: Animation,
    path: str | Path,
    *,
    size: tuple[int, int] = (640, 480),
    frame_rate: float = 20.0,
    title: str = "",
    progress: Progress | None = None,
) -> None:
    """Write a movie in real time, .gif or .mp4.

    Args:
        animation: What to show.
        path: File to write; it appears when it is complete.
        size: Width and height [pixel].
        frame_rate: Frames a second.
        title: Line above the clock.
        progress: Told how far it is.

    Raises:
        SoftctlError: another suffix, a missing extra, or nothing to render with.
        ValueError: an animation that cannot be shown.
    """
    path = Path(path)
    check_suffix(path)
    _check(animation)
    frames = frames_at(animation.time, frame_rate)
    write = _write_gif if path.suffix == ".gif" else _write_mp4
    with _stage(animation, size, title) as stage, replacing(path) as name:

        def pictures() -> Iterator[np.ndarray]:
            for done, frame in enumerate(frames, start=1):
                yield stage.picture(int(frame))
                if progress is not None:
                    progress(done, len(frames))

        sample = [stage.picture(int(frame)) for frame in frames[:: max(1, len(frames) // 8)]]
        write(name, pictures(), sample, frame_rate)
