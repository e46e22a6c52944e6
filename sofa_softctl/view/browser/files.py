"""Files that viewers make: recordings of the session, pictures and movies of what is seen."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.view.browser.player import Player
from sofa_softctl.view.movie.direction import View, view_from
from sofa_softctl.view.movie.movie import save_movie

PICTURE_HEIGHT_MAX = 1440
"""Greatest height of a picture [pixel]."""
RENDER_TIMEOUT = 20.0
"""Wall time in which a viewer's browser must draw its picture [s]."""


class Files:
    """Buttons that record the session, and download pictures and movies.

    Args:
        gui: Controls of viser.
        player: Playing of the motion.
        title: Title of the page, whose stem begins the names of files.
    """

    def __init__(self, gui: Any, player: Player, title: str) -> None:
        self._player, self._stack = player, ExitStack()
        self._movie: threading.Thread | None = None
        self._stem = Path(title).stem
        picture = gui.add_button("Picture", hint="PNG of your view, with a transparent background")
        picture.on_click(self._send_picture)
        movie = gui.add_button("Movie", hint="MP4 of all frames so far, from your side")
        movie.on_click(self._send_movie)
        self._button: Any = None
        if player.session is not None:
            self._button = gui.add_button("Record", hint="Every step from now on, in a file here")
            self._button.on_click(lambda event: player.request(self._toggle_recording))

    def _toggle_recording(self) -> str:
        """Begin or end a recording in the current folder; return what was done."""
        if self._button.label == "Record":
            path = Path(self._name("mcap"))
            self._stack.enter_context(self._player.session.recording(path, overwrite=False))
            self._player.ends.put(self._stack.close)
            self._button.label = "End the recording"
            self._path = path
            return f"Recording to {path.absolute()}."
        self._stack.close()
        self._button.label = "Record"
        return f"Recorded in {self._path.absolute()}."

    def show(self) -> str:
        """Set the button back after a recording that has ended by itself; return what ended it."""
        is_recording = self._player.session is not None and self._player.session.is_recording
        if is_recording or self._button is None or self._button.label == "Record":
            return ""
        self._stack.close()
        self._button.label = "Record"
        return f"The recording ended with the state that it followed: {self._path.absolute()}."

    def _name(self, suffix: str) -> str:
        return f"{self._stem}-{datetime.now():%Y%m%d-%H%M%S}.{suffix}"

    def _send_picture(self, event: Any) -> None:
        """Have a viewer's browser draw its view, and send it back as a file."""
        from imageio.v3 import imwrite

        client = event.client
        if client is None:
            return
        camera = client.camera
        scale = min(1.0, PICTURE_HEIGHT_MAX / camera.image_height)
        try:
            picture = client.get_render(
                round(scale * camera.image_height), round(scale * camera.image_width),
                transport_format="png", timeout=RENDER_TIMEOUT,
            )  # fmt: skip
        except TimeoutError:
            self._notify_viewer(client, "The browser has not drawn a picture.")
            return
        client.send_file_download(self._name("png"), imwrite("<bytes>", picture, extension=".png"))

    def _send_movie(self, event: Any) -> None:
        """Render the frames so far from a viewer's side, in a thread, and send them."""
        if event.client is not None:
            camera = event.client.camera
            direction = np.array(camera.position) - np.array(camera.look_at)
            up = self._player.motion.frame(0)[0].up
            view = view_from(direction, up)
            self._player.request(lambda: self._start_movie(event.client, view))

    def _start_movie(self, client: Any, view: View) -> str:
        if self._movie is not None and self._movie.is_alive():
            return "A movie is being made already."
        animation = self._player.motion.animation()

        def render_movie() -> None:
            path = Path(self._name("mp4"))
            try:
                save_movie(animation, path, view=view)
            except Exception as error:
                self._notify_viewer(client, str(error))
            else:
                self._notify_viewer(client, f"Movie: {path.absolute()}")

        self._movie = threading.Thread(target=render_movie, daemon=True)
        self._movie.start()
        return "A movie is being made."

    def _notify_viewer(self, client: Any, text: str) -> None:
        """Show a notification to one viewer."""
        client.add_notification(self._stem, text)
