"""Late registration: built-ins and plugins register at the first unknown name."""

from __future__ import annotations

from collections.abc import Callable

_waiting: list[Callable[[], None]] = []


def when_unknown(register: Callable[[], None]) -> None:
    """Call `register` when a name is first unknown; it adds further ones."""
    _waiting.append(register)


def look_further() -> bool:
    """Call all pending registrations, each once, in order.

    Returns:
        Whether there was any: further names may be known now.

    Raises:
        Exception: raised by one of them; it and those after it stay pending.
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
