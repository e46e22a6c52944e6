"""Movies, and motions as one HTML file that plays in the browser without a server."""

from __future__ import annotations

from pathlib import Path

from sofa_softctl.base.files import replace_atomically
from sofa_softctl.errors import SoftctlError
from sofa_softctl.view.browser.server import check_viser, open_server, stop_server
from sofa_softctl.view.browser.stage import Stage
from sofa_softctl.view.movie import movie
from sofa_softctl.view.movie.animation import Animation, check_animation, frames_at
from sofa_softctl.view.movie.direction import View
from sofa_softctl.view.movie.encoding import check_encoder

PAGE = ".html"
SUFFIXES = (*movie.SUFFIXES, PAGE)
FRAME_RATE = 15.0
"""Frames by real time: half those of a movie, as all of them are in the page [1/s]."""


def save_motion(
    animation: Animation,
    path: Path,
    *,
    size: tuple[int, int] = movie.SIZE,
    view: View | None = None,
    progress: movie.Progress | None = None,
) -> None:
    """Write a movie, or a page (.html) in which the motion is turned, zoomed and replayed.

    Args:
        animation: Contents.
        path: File to write; it appears when it is complete.
        size: Width and height of a movie [pixel].
        view: View of the camera. By default, one that shows the motion.
        progress: Called after each frame.

    Raises:
        SoftctlError: Another suffix, or the extra [view] is missing.
        ValueError: An animation that cannot be shown.
    """
    check_suffix(path)
    if path.suffix != PAGE:
        movie.save_movie(animation, path, size=size, view=view, progress=progress)
        return
    check_animation(animation)
    text = _page_of(animation, path.stem, view, progress)
    with replace_atomically(path) as partial:
        partial.write_text(text, encoding="utf-8")


def check_suffix(path: Path) -> None:
    """Raise SoftctlError if neither a movie nor a page has this suffix."""
    if path.suffix not in SUFFIXES:
        raise SoftctlError(
            f"A movie needs a name in {', '.join(movie.SUFFIXES)} or {PAGE}, got '{path}'."
        )


def check_writer(path: Path) -> None:
    """Raise SoftctlError if what writes this suffix is not installed or does not work."""
    if path.suffix == PAGE:
        check_viser()
    else:
        check_encoder(path)


def _page_of(
    animation: Animation, title: str, view: View | None, progress: movie.Progress | None
) -> str:
    """Return a page that is complete in itself."""
    server, _ = open_server("localhost", None, title)
    try:
        stage = Stage(server, animation, view)
        serializer = server.get_scene_serializer()
        indices = frames_at(animation.time, FRAME_RATE)
        for count, index in enumerate(indices, start=1):
            stage.show(animation, int(index))
            serializer.insert_sleep(1.0 / FRAME_RATE)
            if progress is not None:
                progress(count, len(indices))
        text: str = serializer.as_html()
        return text
    finally:
        stop_server(server)
