"""Plugin module that sofa_softctl loads."""

from collections.abc import Callable
from typing import Any

from sofa_softctl import hookimpl


@hookimpl
def softctl_register_controllers(register: Callable[[str, Callable[..., Any]], None]) -> None:
    """Register the controller "swimmer"."""
    register("swimmer", _controller)


def _controller() -> type[Any]:
    """Return the controller's class; it is imported only here."""
    from softctl_swimmer.controller import SwimmerController

    return SwimmerController
