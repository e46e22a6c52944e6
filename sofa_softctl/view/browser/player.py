"""Playing of a motion at a speed, with requests of viewers between its steps."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from sofa_softctl.base.processes import TerminationSignal
from sofa_softctl.errors import SoftctlError
from sofa_softctl.plugins import user_frames
from sofa_softctl.view.browser.motion import LiveMotion, Motion

LAG_MAX = 0.25
"""Wall time by which a motion may lag before it no longer catches up [s]."""

Request = Callable[[], object]
"""Action that a viewer asked for, done between two steps; a text that it returns is shown."""


class Player:
    """State of playing: motion, speed, message.

    Viewers' threads call `request` only; all else happens in the thread that plays.

    Args:
        motion: The motion.
        open_scene: Function that opens the scene again with other parameters, if there is one.
        playing: Whether it plays from the start.
    """

    def __init__(
        self,
        motion: Motion,
        open_scene: Callable[[dict[str, Any]], Motion] | None = None,
        *,
        playing: bool = True,
    ) -> None:
        self.motion, self.open_scene, self.playing = motion, open_scene, playing
        self.speed = 1.0
        """Simulated time by wall time; infinite: as fast as it can [-]."""
        self.message = ""
        """Last action, or why it failed."""
        self.ends = SimpleQueue[Request]()
        """Actions before a scene is closed, such as the end of its recording."""
        self._requests = SimpleQueue[Request]()
        self._start: tuple[float, float] | None = None  # wall and simulated time of playing

    @property
    def is_playing(self) -> bool:
        """True if it plays and has more to play."""
        return self.playing and not self.motion.at_end

    @property
    def session(self) -> Any:
        """Session that is shown, or None for a recording."""
        return self.motion.session if isinstance(self.motion, LiveMotion) else None

    def request(self, action: Request) -> None:
        """Queue an action for the time between two steps; viewers' threads call this."""
        self._requests.put(action)

    def step(self) -> None:
        """Make one step, and pause."""
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

    def toggle(self) -> None:
        """Pause, or play."""
        if self.is_playing:
            self.pause()
        else:
            self.play()

    def set_speed(self, speed: float) -> None:
        """Set the simulated time by wall time [-]."""
        self.speed, self._start = speed, None

    def reset(self) -> None:
        """Return to the begin."""
        self.motion.reset()
        self.message, self._start = "", None

    def show_time(self, moment: float) -> None:
        """Pause, and show the frame nearest to a time."""
        self.pause()
        self.motion.show_time(moment)

    def open_again(self, parameters: dict[str, Any]) -> str:
        """Open the scene with other parameters; the present one stays if that fails."""
        assert self.open_scene is not None
        motion = self.open_scene(parameters)
        self.end_scene()
        self.session.close()
        self.motion, self._start = motion, None
        return "The scene was opened again."

    def end_scene(self) -> None:
        """Complete what must end before the scene is closed, such as its recording."""
        while not self.ends.empty():
            self.attempt(self.ends.get())

    def advance(self) -> bool:
        """Make a step if it is due; return True if it was."""
        if not self.is_playing or self.wait() > 0.0:
            return False
        self.attempt(self.motion.advance)
        return True

    def wait(self) -> float:
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

    def do_requests(self, seconds: float) -> bool:
        """Answer the viewers' requests; return True if there were any.

        Args:
            seconds: Wall time to wait for a first request [s].
        """
        is_any = False
        while True:
            try:
                if seconds > 0.0 and not is_any:
                    action = self._requests.get(timeout=seconds)
                else:
                    action = self._requests.get_nowait()
            except Empty:
                return is_any
            self.attempt(action)
            is_any = True

    def attempt(self, action: Request) -> None:
        """Call an action; an error pauses the motion, and its sentence is shown."""
        try:
            result = action()
        except Exception as error:
            self.pause()
            self.message = _sentence(error)
        except SystemExit as ended:
            if isinstance(ended, TerminationSignal) or not user_frames(ended):
                raise
            self.pause()
            self.message = f"{_location(ended)}The scene called exit({ended.code!r})."
        else:
            if isinstance(result, str):
                self.message = result


def _sentence(error: Exception) -> str:
    """Return an error with its notes as text."""
    is_ours = isinstance(error, SoftctlError)
    kind = "" if is_ours else f"{_location(error)}{type(error).__name__}: "
    return " ".join([f"{kind}{error}", *getattr(error, "__notes__", ())])


def _location(error: BaseException) -> str:
    """Return the innermost line of the scene at which an error came, or ""."""
    frames = user_frames(error)
    return f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""
