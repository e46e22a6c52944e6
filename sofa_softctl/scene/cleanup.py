"""Clean-up of a scene's controllers at the end of a session."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from typing import Any

from sofa_softctl.base.processes import interrupted_after, stopped_by, uninterrupted
from sofa_softctl.errors import SoftctlError


def clean_up(Sofa: Any, controllers: Iterable[Any]) -> BaseException | None:
    """Call `cleanup()` of each controller, whatever the others raise; Ctrl-C waits for them.

    What one raises is reported as an error message; so is a second Ctrl-C, which cuts the clean-up
    of one short, or an exit() in one.

    Args:
        Sofa: The backend's module.
        controllers: Python controllers, in the order of the graph.

    Returns:
        The first exception, errors before Ctrl-C; None: there was none.
    """
    first: BaseException | None = None
    with uninterrupted():
        for controller in controllers:
            try:
                with interrupted_after():
                    controller.cleanup()
            except BaseException as error:
                if first is None or (is_interrupt(first) and not is_interrupt(error)):
                    first = error
                said = f"{_described(error).rstrip('.')}. The other controllers are cleaned up."
                Sofa.msg_error(controller.getPathName(), said)
    return first


def is_interrupt(error: BaseException) -> bool:
    """Whether it asks for the end, and says nothing of how things are: Ctrl-C or a signal."""
    return isinstance(error, KeyboardInterrupt)


def _described(error: BaseException) -> str:
    if isinstance(error, SoftctlError):  # it says itself what to do
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return f"{stopped_by(error)} came again: its clean-up is cut short"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{frame.filename}:{frame.lineno}"
    return f"cleanup() failed at {where}: {type(error).__name__}: {error}"
