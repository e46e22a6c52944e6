"""Pictures of a running session, one at a time."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np

from sofa_softctl.scene.session import Session
from sofa_softctl.view.movie.animation import Animation
from sofa_softctl.view.movie.capture import Camera
from sofa_softctl.view.movie.direction import View
from sofa_softctl.view.movie.stage import Stage, open_stage


class Window:
    """A look at a session whenever it is asked for; the camera goes with the robot.

    Args:
        session: The session.
        size: Width and height [pixel].
        view: Where the camera stands; None: its own choice.

    Raises:
        SoftctlError: A missing extra, or nothing to render with or to show.
    """

    def __init__(
        self, session: Session, *, size: tuple[int, int] = (640, 480), view: View | None = None
    ) -> None:
        self.session, self._size, self._view = session, size, view
        self._camera = Camera(session)
        self._stack = ExitStack()
        self._stage: Stage | None = None

    def picture(self) -> np.ndarray:
        """The session now as pixels, shape (height, width, 3)."""
        self._camera.forget()
        self._camera.look()
        animation = self._camera.animation()
        if self._stage is None:
            self._stage = self._stack.enter_context(
                open_stage(animation, self._size, "", self._view)
            )
        _renew(self._stage.animation, animation)
        pulls = [line.tension.max() for line in animation.lines if line.tension is not None]
        self._stage.tension = float(max([self._stage.tension, *pulls]))
        self._stage.frame_all()
        return self._stage.picture(0)

    def close(self) -> None:
        """Let go of the renderer."""
        self._stack.close()
        self._stage = None


def _renew(shown: Animation, now: Animation) -> None:
    """Write the arrays of one animation into those of another, of the same objects."""
    shown.time[:] = now.time
    for body, new in zip(shown.bodies, now.bodies, strict=True):
        body.positions[:] = new.positions
    for line, other in zip(shown.lines, now.lines, strict=True):
        line.points[:] = other.points
        if line.tension is not None and other.tension is not None:
            line.tension[:] = other.tension
    for marker, place in zip(shown.markers, now.markers, strict=True):
        marker.positions[:] = place.positions
