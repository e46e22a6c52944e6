"""SOFA's messages: Sofa.msg_info, msg_warning, msg_error, msg_deprecated, and handlers."""

from __future__ import annotations

import logging
from collections import deque
from typing import Any

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
