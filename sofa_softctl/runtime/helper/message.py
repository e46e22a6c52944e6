"""Messages of components, at the line of the scene, and what is refused in strict runs."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from sofa_softctl.errors import SceneError

_log = logging.getLogger("sofa_softctl")
_handlers: list[MessageHandler] = []
KEPT_MESSAGES_MAX = 100
"""Number of messages that an object keeps for getLoggedMessagesAsString: the last ones."""


class MessageHandler:
    """SOFA's Sofa.Helper.MessageHandler: gets the messages while it is entered.

    with MyHandler() as handler:
        ...

    A subclass overwrites `process`.
    """

    def process(self, message: dict[str, Any]) -> None:
        """Called with each message.

        Args:
            message: 'type' ('Info', 'Warning', 'Error', ...), 'isEmpty', 'sender' (class of the
                object, or the name given), 'message' and 'component' (the object, or None).
        """

    def __enter__(self) -> MessageHandler:
        _handlers.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _handlers.remove(self)


def _emit(level: int, kind: str, arguments: tuple[Any, ...]) -> None:
    """SofaPython3 takes (text) or (emitter, text), and with either a file and a line."""
    if _MUTED.get():
        return
    emitter, text = arguments[:2] if len(arguments) in (2, 4) else ("", arguments[0])
    component = emitter if hasattr(emitter, "getPathName") else None
    path = emitter if component is None else component.getPathName()
    _log.log(level, "%s%s", f"[{path}] " if path else "", text)
    sender = (emitter or "PythonScript") if component is None else component.getClassName()
    if component is not None:
        kept = vars(component).setdefault("_messages", deque(maxlen=KEPT_MESSAGES_MAX))
        kept.append(f"[{kind}] {text}")
    message = {"type": kind, "isEmpty": not text, "sender": sender, "message": text}
    for handler in reversed(_handlers):
        handler.process(message | {"component": component})


def info(*arguments: Any) -> None:
    """Say something."""
    _emit(logging.INFO, "Info", arguments)


def warning(*arguments: Any) -> None:
    """Warn of something."""
    _emit(logging.WARNING, "Warning", arguments)


def error(*arguments: Any) -> None:
    """Report an error."""
    _emit(logging.ERROR, "Error", arguments)


def fatal(*arguments: Any) -> None:
    """Report an error after which nothing goes on."""
    _emit(logging.CRITICAL, "Fatal", arguments)


def deprecated(*arguments: Any) -> None:
    """Say that something is old."""
    _emit(logging.WARNING, "Deprecated", arguments)


_MUTED: ContextVar[bool] = ContextVar("muted", default=False)
_STRICT: ContextVar[bool] = ContextVar("strict", default=False)
_FOUND: ContextVar[list[SceneError] | None] = ContextVar("found", default=None)
DEFECTS_VARIABLE = "SOFTCTL_SOFA_DEFECTS"
"""Environment variable: 1 gives SOFA's numbers also where they are those of a defect (the page
docs/explanation/where-we-differ.md has them)."""


@contextmanager
def warnings_as_errors(value: bool = True) -> Iterator[None]:
    """Within it, what a scene is warned of raises at once, at its line."""
    before = _STRICT.set(value)
    try:
        yield
    finally:
        _STRICT.reset(before)


@contextmanager
def muted() -> Iterator[None]:
    """Drop all messages within it, such as those of a copy, which repeat its scene's."""
    before = _MUTED.set(True)
    try:
        yield
    finally:
        _MUTED.reset(before)


@contextmanager
def complaints() -> Iterator[list[SceneError]]:
    """Gives the faults that are complained of within it."""
    found: list[SceneError] = []
    before = _FOUND.set(found)
    try:
        yield found
    finally:
        _FOUND.reset(before)


def complain(sender: Any, error: SceneError, then: str = "") -> None:
    """Raise a fault of a scene where it is strict; else warn of it, and go on as SOFA does.

    For faults with which SOFA goes on and that do not make a wrong motion unseen: an unknown Data,
    a value that cannot be read.

    Args:
        sender: The object whose fault it is.
        error: The fault, with the scene's line.
        then: What is done about it; part of the warning alone.

    Raises:
        SceneError: It, in strict mode.
    """
    if _STRICT.get():
        raise error
    if (found := _FOUND.get()) is not None:
        found.append(error)
    text = f"{error}{then}"
    if f"[Warning] {text}" not in getattr(sender, "__dict__", {}).get("_messages", ()):  # said once
        warning(sender, text)


def not_negative(component: Any, name: str, instead: float) -> None:
    """Replace a negative number, as SOFA does."""
    data = component._data[name]
    if data.get() < 0.0:
        problem = f"takes a '{name}' of 0 or more, got {data.get():g}; {instead:g} is taken."
        complain(component, component.fault(problem))
        data.set(instead)


def keeps_sofa_defects() -> bool:
    """Return True if a user asks for SOFA's numbers, defects included."""
    return os.environ.get(DEFECTS_VARIABLE, "0") not in ("", "0")
