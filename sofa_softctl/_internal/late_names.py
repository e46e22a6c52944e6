"""Names that become known when an unknown one is looked for: built-in things, and plugins."""

from __future__ import annotations

from collections.abc import Callable

_waiting: list[Callable[[], None]] = []


def when_unknown(register: Callable[[], None]) -> None:
    """Call `register` before a name counts as unknown; it makes further ones known."""
    _waiting.append(register)


def look_further() -> bool:
    """Call all that waits, each once, in order.

    Returns:
        Whether there was any: names may be known now that were not.

    Raises:
        Exception: whatever one of them raises; it will be called again, and those after it.
    """
    found = bool(_waiting)
    while _waiting:
        register = _waiting.pop(0)
        try:
            register()
        except BaseException:
            _waiting.insert(0, register)
            raise
    return found
