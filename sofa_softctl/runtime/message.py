"""SOFA's messages: Sofa.msg_info, msg_warning, msg_error, msg_deprecated."""

from __future__ import annotations

import logging
from typing import Any

_log = logging.getLogger("sofa_softctl")


def _emit(level: int, arguments: tuple[Any, ...]) -> None:
    """SofaPython3 takes (text) or (emitter, text)."""
    emitter, text = arguments if len(arguments) > 1 else ("", *arguments)
    if hasattr(emitter, "getPathName"):
        emitter = emitter.getPathName()
    _log.log(level, "%s%s", f"[{emitter}] " if emitter else "", text)


def info(*arguments: Any) -> None:
    """Say something."""
    _emit(logging.INFO, arguments)


def warning(*arguments: Any) -> None:
    """Warn of something."""
    _emit(logging.WARNING, arguments)


def error(*arguments: Any) -> None:
    """Report an error."""
    _emit(logging.ERROR, arguments)


fatal = error


def deprecated(*arguments: Any) -> None:
    """Say that something is old."""
    _emit(logging.WARNING, arguments)
