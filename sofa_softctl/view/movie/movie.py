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
from sofa_softctl.view.movie.animation import (
    AnimatedCable,
    AnimatedPoint,
    AnimatedSurface,
    Animation,
    frames_at,
)
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


def save_movie(
    animation: Animation,
    path: str | Path,
    *,
    size: tuple[int, int] = (640, 480),
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


def check_animation(animation: Animation) -> None:
    """Raise ValueError if there is nothing to show, or a shape or value is invalid."""
    count = len(animation.time)
    items: list[tuple[str, AnimatedSurface | AnimatedCable | AnimatedPoint]] = [
        *(("body", body) for body in animation.bodies),
        *(("line", line) for line in animation.lines),
        *(("marker", marker) for marker in animation.markers),
    ]
    if not count or not items:
        raise ValueError(f"There is nothing to show: {count} frames of {len(items)} objects.")
    if not (np.diff(animation.time) >= 0.0).all():
        raise ValueError("The times of an animation must not decrease.")
    for kind, item in items:
        label = f"{kind} '{item.name}'"
        positions = item.points if isinstance(item, AnimatedCable) else item.positions
        shape = (count, 3) if isinstance(item, AnimatedPoint) else (count, *positions.shape[1:2], 3)
        if positions.shape != shape:
            raise ValueError(f"The {label} must have shape {shape}. Got: {positions.shape}.")
        finite = np.isfinite(positions).reshape(count, -1).all(axis=1)
        if not finite.all():
            raise ValueError(f"The {label} is not finite in frame {int(np.argmin(finite))}.")
        tension = item.tension if isinstance(item, AnimatedCable) else None
        if tension is not None and tension.shape != (count,):
            raise ValueError(
                f"The tension of {label} must have shape ({count},). Got: {tension.shape}."
            )
        if isinstance(item, AnimatedSurface) and item.triangles.size:  # else VTK crashes
            first, last = int(item.triangles.min()), int(item.triangles.max())
            if first < 0 or last >= positions.shape[1]:
                raise ValueError(
                    f"Triangles of the {label} name vertices {first} to {last}, "
                    f"but there are {positions.shape[1]}."
                )


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
