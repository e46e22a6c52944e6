"""Movies of animations, GIF or MP4."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np

from sofa_softctl.base.files import replace_atomically
from sofa_softctl.base.machine import thread_count
from sofa_softctl.errors import SoftctlError
from sofa_softctl.view.movie.animation import Animation, check_animation, frames_at
from sofa_softctl.view.movie.direction import View
from sofa_softctl.view.movie.encoding import (
    delays_of,
    palette_of,
    write_gif,
    write_mp4,
)
from sofa_softctl.view.movie.stage import Stage

Progress = Callable[[int, int], None]
"""Function called with the number of finished frames and of all frames."""

SUFFIXES = (".gif", ".mp4")
SIZE = (640, 480)
"""Default width and height [pixel]."""


def save_movie(
    animation: Animation,
    path: str | Path,
    *,
    size: tuple[int, int] = SIZE,
    frame_rate: float = 20.0,
    title: str = "",
    view: View | None = None,
    progress: Progress | None = None,
) -> None:
    """Write a movie in real time, .gif or .mp4.

    Args:
        animation: Contents of the movie.
        path: File to write; it appears when it is complete.
        size: Width and height [pixel].
        frame_rate: Frames a second; a GIF has at most 50.
        title: Line at the top.
        view: View of the camera. By default, one that shows the motion.
        progress: Called after each frame.

    Raises:
        SoftctlError: another suffix, or an MP4 without its extra or encoder.
        ValueError: an animation that cannot be shown.
    """
    path = Path(path)
    check_suffix(path)
    check_animation(animation)
    if not frame_rate > 0.0:
        raise ValueError(f"The frame rate must be positive. Got: {frame_rate}.")
    if path.suffix == ".gif":
        frame_rate = min(frame_rate, 50.0)  # browsers play faster GIFs at 10 Hz
    frames = [int(frame) for frame in frames_at(animation.time, frame_rate)]
    stage = Stage(animation, size, title, view)
    with replace_atomically(path) as name:
        pictures = _report_progress(_paint_ahead(stage, frames), len(frames), progress)
        if path.suffix == ".gif":
            sample = [stage.picture(frame) for frame in frames[:: 1 + len(frames) // 8]]
            write_gif(name, pictures, palette_of(sample), delays_of(len(frames), frame_rate))
        else:
            write_mp4(name, pictures, frame_rate)


def check_suffix(path: Path) -> None:
    """Raise SoftctlError if no movie of that suffix can be written."""
    if path.suffix not in SUFFIXES:
        raise SoftctlError(f"A movie needs a name in {' or '.join(SUFFIXES)}, got '{path}'.")


def _paint_ahead(stage: Stage, frames: list[int]) -> Iterator[np.ndarray]:
    """Yield the pictures of the frames, of which other threads paint the next ones meanwhile."""
    workers = thread_count()
    with ThreadPoolExecutor(workers, thread_name_prefix="movie") as pool:
        pictures: deque[Future[np.ndarray]] = deque()
        try:
            for frame in frames:
                pictures.append(pool.submit(stage.picture, frame))
                if len(pictures) > 2 * workers:
                    yield pictures.popleft().result()
            while pictures:
                yield pictures.popleft().result()
        finally:
            for picture in pictures:
                picture.cancel()


def _report_progress(
    pictures: Iterable[np.ndarray], total: int, progress: Progress | None
) -> Iterator[np.ndarray]:
    """Yield the pictures, and report progress after each."""
    for count, picture in enumerate(pictures, start=1):
        yield picture
        if progress is not None:
            progress(count, total)
