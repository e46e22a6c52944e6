"""What sofa_softctl loads as a plugin."""

from collections.abc import Callable
from typing import Any

from sofa_softctl import hookimpl


@hookimpl
def softctl_register_components(register: Callable[[type[Any]], None]) -> None:
    """See sofa_softctl.hooks. The physics needs no component: a scene's come with the scene."""
