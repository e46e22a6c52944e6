"""Events, as the dictionaries that SofaPython3 passes to controllers."""

from __future__ import annotations

from typing import Any


class Event(dict[str, Any]):
    """Event; a dictionary with at least 'type' and 'isHandled'."""

    def __init__(self, type: str, **content: Any) -> None:
        super().__init__(type=type, isHandled=False, **content)
        self.handler = f"on{type}"
        """Name of the controller's method for it, such as `onAnimateBeginEvent`."""


def key_pressed(key: str) -> Event:
    """Return the event of a key that is pressed in the viewer."""
    return Event("KeypressedEvent", key=key)


def key_released(key: str) -> Event:
    """Return the event of a key that is released in the viewer."""
    return Event("KeyreleasedEvent", key=key)
