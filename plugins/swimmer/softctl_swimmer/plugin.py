"""What sofa_softctl loads as a plugin."""

from collections.abc import Callable
from typing import Any

from sofa_softctl import hookimpl


@hookimpl
def softctl_register_controllers(register: Callable[[str, Callable[..., Any]], None]) -> None:
    """See sofa_softctl.hooks."""
    register("swimmer", _controller)


def _controller() -> type[Any]:
    """The class, imported when it is needed."""
    from softctl_swimmer.controller import SwimmerController

    return SwimmerController
