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
    """Make sessions strict by default within the block; `softctl COMMAND --strict`."""
    token = _DEFAULT.set(strict)
    try:
        yield
    finally:
        _DEFAULT.reset(token)


def set_strict(strict: bool) -> None:
    """Make sessions strict, or not, by default for the rest of the process."""
    _DEFAULT.set(strict)


@contextmanager
def strict_start(Sofa: Any, strict: bool | None) -> Iterator[None]:
    """Raise the warnings of the block as one error.

    Complaints of the embedded runtime, such as an unknown Data, raise immediately. The rest
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
    texts: list[str] = []
    with ExitStack() as stack:
        stack.enter_context(warnings_as_errors())
        stack.enter_context(message_collector(Sofa, texts))
        stack.enter_context(_hide_runtime_warnings())
        python = stack.enter_context(warnings.catch_warnings(record=True))
        yield
    texts += [f"{w.filename}:{w.lineno}: {w.message}" for w in python]
    if texts:
        raise SceneError("\n".join(texts))


def message_collector(Sofa: Any, texts: list[str]) -> Any:
    """Return a context that appends the warnings and errors of the block, each of them once.

    Args:
        Sofa: The module of the backend.
        texts: Texts so far; from `KEPT_WARNINGS_MAX` on none is added.
    """

    class Collector(Sofa.Helper.MessageHandler):  # type: ignore[misc, name-defined]
        def process(self, message: dict[str, Any]) -> None:
            if message["type"] in ERRORS and len(texts) < KEPT_WARNINGS_MAX:
                component = message["component"]
                sender = message["sender"] if component is None else component.getPathName()
                text = f"[{sender}] {message['message']}" if sender else message["message"]
                if text not in texts:
                    texts.append(text)

    return Collector()


KEPT_WARNINGS_MAX = 100
"""Number of different warnings above which further ones are not kept."""


@contextmanager
def _hide_runtime_warnings() -> Iterator[None]:
    """Hide the log of the embedded runtime's warnings."""
    log = logging.getLogger("sofa_softctl")
    log.addFilter(_is_harmless)
    try:
        yield
    finally:
        log.removeFilter(_is_harmless)


def _is_harmless(record: logging.LogRecord) -> bool:
    return record.levelno < logging.WARNING


PRINTED_WARNINGS_MAX = 10
"""Maximum number of printed warnings."""


@contextmanager
def gathered_warnings(hint: str) -> Iterator[None]:
    """Print each warning of the runtime in the block once at its end, the first ten of them.

    Args:
        hint: Advice for listing the remaining warnings.
    """
    log = logging.getLogger("sofa_softctl")
    records: dict[str, logging.LogRecord] = {}

    def wait(record: logging.LogRecord) -> bool:
        if record.levelno != logging.WARNING:
            return True
        records.setdefault(record.getMessage(), record)
        return False

    log.addFilter(wait)
    try:
        yield
    finally:
        log.removeFilter(wait)
        for record in list(records.values())[:PRINTED_WARNINGS_MAX]:
            log.handle(record)
        if len(records) > PRINTED_WARNINGS_MAX:
            log.warning("... and %d more warnings: %s", len(records) - PRINTED_WARNINGS_MAX, hint)
