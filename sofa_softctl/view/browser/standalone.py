"""A motion as one HTML file that plays in the browser, without a server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sofa_softctl.base.files import replace_atomically
from sofa_softctl.view.browser.server import open_server, stop_server
from sofa_softctl.view.browser.stage import Stage
from sofa_softctl.view.movie.animation import Animation, frames_at

FRAME_RATE = 15.0
"""Frames by real time: half those of a movie, as all of them are in the page [1/s]."""


def save_page(
    animation: Animation, path: Path, *, progress: Callable[[int, int], None] | None = None
) -> None:
    """Write an animation as a page that is complete in itself: turned, zoomed and replayed.

    Args:
        animation: What to show.
        path: File to write (.html); it appears when it is complete.
        progress: Function called with the number of finished frames and of all frames.

    Raises:
        SoftctlError: The extra [view] is missing.
    """
    server, _ = open_server("localhost", None, path.stem)
    try:
        stage = Stage(server, animation)
        serializer = server.get_scene_serializer()
        indices = frames_at(animation.time, FRAME_RATE)
        for count, index in enumerate(indices, start=1):
            stage.show(animation, int(index))
            serializer.insert_sleep(1.0 / FRAME_RATE)
            if progress is not None:
                progress(count, len(indices))
        text = serializer.as_html()
    finally:
        stop_server(server)
    with replace_atomically(path) as partial:
        partial.write_text(text, encoding="utf-8")
