"""What controllers do with errors: say the scene's line, and pause a simulation that would go on.

SofaPython3 prints what an event method raises, and the step goes on. So a controller must leave
the robot in a safe state before it raises; the decorator here does the rest.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime import where


def scene_line() -> str:
    """The line of the scene that is running, such as 'scenes/trunk.py:41'."""
    return where.describe(where.scene_line())


def pauses_on_error(method: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """An event method of a controller with `root`, `hold()` and `made_at`, the line that made it.

    An error lets the controller hold the robot, pauses the animation, which stops runSofa's window,
    and is raised on: `softctl` and `Session` stop with it on both backends. A SceneError gets the
    line that made the controller.
    """

    @functools.wraps(method)
    def call(self: Any, event: Any) -> None:
        try:
            method(self, event)
        except Exception as error:
            self.hold()
            self.root.animate.value = False
            if isinstance(error, SceneError):
                raise type(error)(f"{self.made_at}: {error}") from error
            raise

    return call
