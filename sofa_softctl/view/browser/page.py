"""The page: it steps a motion as its viewers ask, and shows it to all of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Self

from sofa_softctl.errors import SoftctlError
from sofa_softctl.view.browser.motion import LiveMotion, Motion
from sofa_softctl.view.browser.panel import Panel
from sofa_softctl.view.browser.server import open_server, stop_server
from sofa_softctl.view.browser.stage import Stage

UPDATE_INTERVAL = 1.0 / 30.0
"""Wall time between two updates of the page [s]."""
PANEL_INTERVAL = 0.2
"""Wall time between two updates of texts and plots, which nobody reads faster [s]."""
IDLE_INTERVAL = 0.1
"""Wall time in which a page that does not play looks whether to end [s]."""
LAG_MAX = 0.25
"""Wall time by which a motion may lag before it no longer catches up [s]."""

Request = Callable[[], object]
"""What a viewer asked for; it is done between two steps."""


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
        self.motion, self.open_scene, self.title = motion, open_scene, title
        self.playing, self.speed = playing, 1.0
        """Whether it plays, and simulated time by wall time; infinite: as fast as it can [-]."""
        self.message = ""
        """What was done last, or why it failed."""
        self._requests: SimpleQueue[Request] = SimpleQueue()
        self._start: tuple[float, float] | None = None  # wall and simulated time of playing
        self._updated = self._panel_updated = -math.inf
        self._has_changed = True
        self._closed = False
        self.server, self.address = open_server(host, port, title)
        try:
            self._show_all()
        except BaseException:
            self.close()
            raise

    def _show_all(self) -> None:
        """Make the objects and controls of the motion."""
        motion = self.motion
        self.stage = Stage(self.server, motion.frame(motion.index)[0])
        self.panel = Panel(self)

    def request(self, action: Request) -> None:
        """Have something done between two steps; called by viewers' threads."""
        self._requests.put(action)

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Play as viewers ask, until the function returns True or Ctrl-C is pressed.

        An error of the scene pauses it and is shown in the page.
        """
        while not (self._closed or until()):
            is_playing = self.playing and not self.motion.at_end
            wait = self._wait() if is_playing else IDLE_INTERVAL
            self._do_requests(min(wait, IDLE_INTERVAL))
            if is_playing and self.playing and self._wait() <= 0.0:
                self.attempt(self.motion.advance)
                self._has_changed = True
            self.update()

    def step(self) -> None:
        """Go on by one step, and pause."""
        self.pause()
        self.motion.advance()

    def play(self) -> None:
        """Play from the present state, or again from the begin."""
        if self.motion.at_end:
            self.motion.reset()
        self.motion.resume()
        self.playing, self._start = True, None

    def pause(self) -> None:
        """Stop at the present state."""
        self.playing = False

    def set_speed(self, speed: float) -> None:
        """Set the simulated time by wall time [-]."""
        self.speed, self._start = speed, None

    def reset(self) -> None:
        """Return to the begin."""
        self.motion.reset()
        self._start = None
        self.message = ""

    def show_time(self, moment: float) -> None:
        """Pause, and show the frame nearest to a time."""
        self.pause()
        self.motion.show_time(moment)

    def open_again(self, parameters: dict[str, Any]) -> None:
        """Open the scene with other parameters; the present one stays if that fails."""
        assert self.open_scene is not None
        motion = self.open_scene(parameters)
        self.close_session()
        self.motion = motion
        self.server.gui.reset()
        self.server.scene.reset()
        self._show_all()
        self.message, self._start = "The scene was opened again.", None

    def attempt(self, action: Request) -> None:
        """Do something; an error pauses the motion, and its sentence is shown."""
        try:
            result = action()
        except Exception as error:
            self.pause()
            self.message = _sentence(error)
        else:
            if isinstance(result, str):
                self.message = result

    def update(self) -> None:
        """Send what has changed to the viewers, if they are due for it."""
        now = time.perf_counter()
        if self._has_changed and now - self._updated >= UPDATE_INTERVAL:
            self.motion.capture()
            with self.server.atomic():
                self.stage.show(*self.motion.frame(self.motion.index))
                self.panel.show_time()
            self._updated, self._has_changed = now, False
        if now - self._panel_updated >= PANEL_INTERVAL:
            self.panel.show_state()
            self._panel_updated = now

    def _wait(self) -> float:
        """Return the wall time until the next step is due [s]."""
        if math.isinf(self.speed):
            return 0.0
        now, moment = time.perf_counter(), self.motion.time
        if self._start is None:
            self._start = now, moment
        due = self._start[0] + (moment - self._start[1]) / self.speed
        if now - due > LAG_MAX:
            self._start = now, moment
        return due - now

    def _do_requests(self, wait: float) -> None:
        """Do what viewers have asked for; wait for a first request so long [s]."""
        while True:
            try:
                action = self._requests.get(timeout=max(wait, 0.0)) if wait > 0.0 else None
                action = action or self._requests.get_nowait()
            except Empty:
                return
            self.attempt(action)
            self._has_changed, wait = True, 0.0

    def close(self) -> None:
        """Stop the server; a second call does nothing. The session stays open."""
        if not self._closed:
            self._closed = True
            stop_server(self.server)

    def close_session(self) -> None:
        """Close the session that is shown, if there is one."""
        if isinstance(self.motion, LiveMotion):
            self.motion.session.close()

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


def _sentence(error: Exception) -> str:
    """Return an error with its notes as text."""
    kind = "" if isinstance(error, SoftctlError) else f"{type(error).__name__}: "
    return " ".join([f"{kind}{error}", *getattr(error, "__notes__", ())])
