"""Late registration: built-ins when they are named, plugins at the first name that is not known."""

from __future__ import annotations

from collections.abc import Callable, Iterable

_named: dict[str, Callable[[str], None]] = {}
_waiting: list[Callable[[], None]] = []
_registering = False


def when_named(names: Iterable[str], register: Callable[[str], None]) -> None:
    """Call `register(name)` when one of the names is first looked for: it makes that one known."""
    _named.update(dict.fromkeys(names, register))


def when_unknown(register: Callable[[], None]) -> None:
    """Call `register` when a name is first unknown; it adds further ones."""
    _waiting.append(register)


def look_for(*names: str) -> None:
    """Register what waits for the first of these names, and what plugins bring.

    Where nothing waits for any of them all is registered: see `look_further`.
    """
    waiting = next((name for name in names if name in _named), None)
    if waiting is None:
        look_further()
    else:
        _register(waiting)
        _call_pending()


def look_further() -> bool:
    """Register all that waits, each once: what is named, then plugins in order.

    Returns:
        Whether there was any: further names may be known now.

    Raises:
        Exception: raised by a plugin; it and those after it stay pending.
    """
    if _registering:  # a name that is registered is looked up first: nothing further yet
        return False
    found = bool(_named or _waiting)
    for name in list(_named):
        if name in _named:
            _register(name)
    _call_pending()
    return found


def _register(name: str) -> None:
    global _registering
    before, _registering = _registering, True
    try:
        _named.pop(name)(name)
    finally:
        _registering = before


def _call_pending() -> None:
    global _registering
    if _registering:
        return
    _registering = True
    try:
        while _waiting:
            _waiting[0]()
            _waiting.pop(0)
    finally:
        _registering = False
