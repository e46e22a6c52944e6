"""Warnings of loading and of the start: gathered and printed at its end, or as errors."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.helper.message import warnings_as_errors

_DEFAULT: ContextVar[bool] = ContextVar("strict", default=False)
ERRORS = ("Warning", "Deprecated", "Error", "Fatal")
"""Kinds of messages that a strict session does not accept."""


@contextmanager
def strict_sessions(strict: bool = True) -> Iterator[None]:
    """Within it, a `Session` is strict, unless it says otherwise; `softctl COMMAND --strict`."""
    before = _DEFAULT.set(strict)
    try:
        yield
    finally:
        _DEFAULT.reset(before)


def set_strict(strict: bool) -> None:
    """The same for as long as the process lives."""
    _DEFAULT.set(strict)


@contextmanager
def strict_start(Sofa: Any, strict: bool | None) -> Iterator[None]:
    """Raise what is warned of within it.

    What the embedded runtime complains of, such as an unknown Data, raises at once. The rest
    becomes one error, at the end: every message of `Sofa.msg_warning`, msg_deprecated and
    msg_error, whoever sends it, and Python's warnings. Nothing is printed besides, except by SOFA.

    Args:
        Sofa: The module of the backend.
        strict: Whether warnings are errors; None takes `strict_sessions`, or else False.

    Raises:
        SceneError: The texts of the warnings, a line each.
    """
    if not (_DEFAULT.get() if strict is None else strict):
        yield
        return
    found: list[str] = []

    class Collector(Sofa.Helper.MessageHandler):  # type: ignore[misc, name-defined]
        def process(self, message: dict[str, Any]) -> None:
            if message["type"] in ERRORS:
                component = message["component"]
                sender = message["sender"] if component is None else component.getPathName()
                found.append(f"[{sender}] {message['message']}" if sender else message["message"])

    with ExitStack() as stack:
        stack.enter_context(warnings_as_errors())
        stack.enter_context(Collector())
        stack.enter_context(_unlogged())
        python = stack.enter_context(warnings.catch_warnings(record=True))
        yield
    found += [f"{entry.filename}:{entry.lineno}: {entry.message}" for entry in python]
    if found:
        raise SceneError("\n".join(found))


@contextmanager
def _unlogged() -> Iterator[None]:
    """Without the log of the embedded runtime's warnings."""
    log = logging.getLogger("sofa_softctl")
    log.addFilter(_is_harmless)
    try:
        yield
    finally:
        log.removeFilter(_is_harmless)


def _is_harmless(record: logging.LogRecord) -> bool:
    return record.levelno < logging.WARNING


MOST = 10
"""Warnings that are printed; of the others their number."""


@contextmanager
def gathered_warnings(hint: str) -> Iterator[None]:
    """Within it, the log of the runtime's warnings waits; then each is printed once, the first ten.

    Args:
        hint: Advice for listing the remaining warnings.
    """
    log = logging.getLogger("sofa_softctl")
    found: dict[str, logging.LogRecord] = {}

    def wait(record: logging.LogRecord) -> bool:
        if record.levelno != logging.WARNING:
            return True
        found.setdefault(record.getMessage(), record)
        return False

    log.addFilter(wait)
    try:
        yield
    finally:
        log.removeFilter(wait)
        for record in list(found.values())[:MOST]:
            log.handle(record)
        if len(found) > MOST:
            log.warning("... and %d more warnings: %s", len(found) - MOST, hint)
