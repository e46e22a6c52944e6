"""Late registration: built-ins and plugins register at the first unknown name."""

from __future__ import annotations

from collections.abc import Callable

_waiting: list[Callable[[], None]] = []
_registering = False


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
    global _registering
    if _registering:  # a name that is registered is looked up first: nothing further yet
        return False
    found, _registering = bool(_waiting), True
    try:
        while _waiting:
            _waiting[0]()
            _waiting.pop(0)
    finally:
        _registering = False
    return found
