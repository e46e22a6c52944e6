"""Messages of components, at the line of the scene, and errors in strict runs."""

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
"""Number of latest messages that an object stores for getLoggedMessagesAsString."""


class MessageHandler:
    """SOFA's Sofa.Helper.MessageHandler: gets the messages while it is entered.

    with MyHandler() as handler:
        ...

    A subclass overrides `process`.
    """

    def process(self, message: dict[str, Any]) -> None:
        """Process a message; called with each message.

        Args:
            message: 'type' ('Info', 'Warning', 'Error', ...), 'isEmpty', 'sender' (class of the
                object, or the name passed), 'message' and 'component' (the object, or None).
        """

    def __enter__(self) -> MessageHandler:
        _handlers.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _handlers.remove(self)


def _emit(level: int, kind: str, arguments: tuple[Any, ...]) -> None:
    """Emit a message: (text) or (emitter, text), either with file and line, as SofaPython3."""
    if _SUPPRESSED.get():
        return
    emitter, text = arguments[:2] if len(arguments) in (2, 4) else ("", arguments[0])
    component = emitter if hasattr(emitter, "getPathName") else None
    path = emitter if component is None else component.getPathName()
    _log.log(level, "%s%s", f"[{path}] " if path else "", text)
    sender = (emitter or "PythonScript") if component is None else component.getClassName()
    if component is not None:
        messages = vars(component).setdefault("_messages", deque(maxlen=KEPT_MESSAGES_MAX))
        messages.append(f"[{kind}] {text}")
    message = {"type": kind, "isEmpty": not text, "sender": sender, "message": text}
    for handler in reversed(_handlers):
        handler.process(message | {"component": component})


def info(*arguments: Any) -> None:
    """Report information."""
    _emit(logging.INFO, "Info", arguments)


def warning(*arguments: Any) -> None:
    """Report a warning."""
    _emit(logging.WARNING, "Warning", arguments)


def error(*arguments: Any) -> None:
    """Report an error."""
    _emit(logging.ERROR, "Error", arguments)


def fatal(*arguments: Any) -> None:
    """Report an error after which the simulation cannot continue."""
    _emit(logging.CRITICAL, "Fatal", arguments)


def warn_deprecated(*arguments: Any) -> None:
    """Report the use of something deprecated."""
    _emit(logging.WARNING, "Deprecated", arguments)


_SUPPRESSED: ContextVar[bool] = ContextVar("suppressed", default=False)
_STRICT: ContextVar[bool] = ContextVar("strict", default=False)
_COMPLAINTS: ContextVar[list[SceneError] | None] = ContextVar("found", default=None)
DEFECTS_VARIABLE = "SOFTCTL_SOFA_DEFECTS"
"""Environment variable; 1 gives SOFA's numbers including defects, which are listed in
docs/explanation/where-we-differ.md."""


@contextmanager
def warnings_as_errors(value: bool = True) -> Iterator[None]:
    """Raise the warnings of a scene as errors inside the block, at the line of the scene."""
    token = _STRICT.set(value)
    try:
        yield
    finally:
        _STRICT.reset(token)


@contextmanager
def suppress_messages() -> Iterator[None]:
    """Drop all messages inside the block, such as a copy's, which repeat its scene's."""
    token = _SUPPRESSED.set(True)
    try:
        yield
    finally:
        _SUPPRESSED.reset(token)


@contextmanager
def complaints() -> Iterator[list[SceneError]]:
    """Collect the faults that are reported inside the block."""
    faults: list[SceneError] = []
    token = _COMPLAINTS.set(faults)
    try:
        yield faults
    finally:
        _COMPLAINTS.reset(token)


def complain(sender: Any, error: SceneError, then: str = "") -> None:
    """Raise a fault of a scene in strict mode; otherwise warn of it and continue as SOFA does.

    Use it for faults that SOFA ignores and that cannot cause an unnoticed wrong motion: an unknown
    Data, a value that cannot be read.

    Args:
        sender: The object whose fault it is.
        error: The fault, with the scene's line.
        then: Consequence, added to the text of the warning.

    Raises:
        SceneError: The fault, in strict mode.
    """
    if _STRICT.get():
        raise error
    if (faults := _COMPLAINTS.get()) is not None:
        faults.append(error)
    text = f"{error}{then}"
    if f"[Warning] {text}" not in getattr(sender, "__dict__", {}).get("_messages", ()):  # warn once
        warning(sender, text)


def not_negative(component: Any, name: str, instead: float) -> None:
    """Replace a negative number, as SOFA does."""
    data = component._data[name]
    if data.get() < 0.0:
        problem = f"takes a '{name}' of 0 or more, got {data.get():g}; {instead:g} is taken."
        complain(component, component.fault(problem))
        data.set(instead)


def keeps_sofa_defects() -> bool:
    """Return True if the user requests SOFA's numbers, including defects."""
    return os.environ.get(DEFECTS_VARIABLE, "0") not in ("", "0")
