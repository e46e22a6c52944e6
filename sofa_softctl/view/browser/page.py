"""The page: it plays a motion as its viewers ask, and shows it to all of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Self

from sofa_softctl.view.browser.motion import Motion
from sofa_softctl.view.browser.panel import Panel
from sofa_softctl.view.browser.player import Player, Request
from sofa_softctl.view.browser.server import open_server, stop_server
from sofa_softctl.view.browser.stage import Stage

UPDATE_INTERVAL = 1.0 / 30.0
"""Wall time between two updates of the page [s]."""
PANEL_INTERVAL = 0.2
"""Wall time between two updates of texts and plots, which nobody reads faster [s]."""
IDLE_INTERVAL = 0.1
"""Wall time in which a page that does not play looks whether to end [s]."""


class Page:
    """A page in the browser that shows a motion; a context manager that stops its server.

    Viewers' requests come in other threads, and are done in the one that calls `run` or `update`.

    Args:
        motion: The motion.
        title: Title of the panel.
        open_scene: Function that opens the scene again with other parameters, if there is one.
        host: Address to listen at; all but this computer's own get a token.
        port: Port; None takes the first free one.
        playing: Whether it plays from the start.

    Raises:
        SoftctlError: The extra [view] is missing.
        UsageError: The address or port cannot be used.
    """

    def __init__(
        self,
        motion: Motion,
        title: str,
        *,
        open_scene: Callable[[dict[str, Any]], Motion] | None = None,
        host: str = "localhost",
        port: int | None = None,
        playing: bool = True,
    ) -> None:
        self.title = title
        self.player = Player(motion, open_scene, playing=playing)
        self._updated = self._panel_updated = -math.inf
        self._has_changed = True
        self._is_closed = False
        self.server, self.address = open_server(host, port, title)
        try:
            self._make_objects()
        except BaseException:
            stop_server(self.server)
            raise

    def _make_objects(self) -> None:
        """Make the objects and controls of the motion."""
        self._shown = motion = self.player.motion
        self.stage = Stage(self.server, motion.frame(motion.index)[0])
        self.panel = Panel(self.server, self.stage, self.player, self.title)

    @property
    def motion(self) -> Motion:
        """Motion that is shown."""
        return self.player.motion

    def request(self, action: Request) -> None:
        """Queue an action for the time between two steps; any thread may call this."""
        self.player.request(action)

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Play as viewers ask, until the function returns True or Ctrl-C is pressed.

        An error of the scene pauses it and is shown in the page.
        """
        player = self.player
        while not (self._is_closed or until()):
            wait = player.wait() if player.is_playing else IDLE_INTERVAL
            has_requests = player.do_requests(min(wait, IDLE_INTERVAL))
            has_stepped = player.advance()
            self._update(has_requests or has_stepped)

    def update(self) -> None:
        """Answer viewers' requests, and send the session's state, at most 30 times a second.

        For loops that make the steps themselves.
        """
        self.player.motion.resume()
        self.player.do_requests(0.0)
        self._update(has_changed=True)

    def _update(self, has_changed: bool) -> None:
        """Send what has changed to the viewers, if they are due for it."""
        if self.player.motion is not self._shown:
            self.server.gui.reset()
            self.server.scene.reset()
            self._make_objects()
        self._has_changed = self._has_changed or has_changed
        now = time.perf_counter()
        if self._has_changed and now - self._updated >= UPDATE_INTERVAL:
            self._updated, self._has_changed = now, False
            self.player.attempt(self._show_frame)
        if now - self._panel_updated >= PANEL_INTERVAL:
            self._panel_updated = now
            self.player.attempt(self.panel.show_state)

    def _show_frame(self) -> None:
        """Send the present frame."""
        motion = self.player.motion
        motion.capture()
        with self.server.atomic():
            self.stage.show(*motion.frame(motion.index))
            self.panel.show_objects()

    def close(self) -> None:
        """Stop the server; a second call does nothing. The session stays open."""
        if not self._is_closed:
            self._is_closed = True
            self.player.end_scene()
            stop_server(self.server)

    def close_session(self) -> None:
        """Close the session that is shown, if there is one."""
        if self.player.session is not None:
            self.player.session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        """The page inside a notebook on this computer."""
        return (
            f'<iframe src="{self.address}" width="100%" height="600" '
            'style="border: 1px solid #ccc"></iframe>'
        )
