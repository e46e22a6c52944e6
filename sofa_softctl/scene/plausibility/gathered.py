"""Warnings of loading and of the start, gathered and printed at its end."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

MOST = 10
"""Warnings that are printed; of the others their number."""


@contextmanager
def gathered_warnings(hint: str) -> Iterator[None]:
    """Within it, the log of the runtime's warnings waits; then each is printed once, the first ten.

    Args:
        hint: How to see the rest.
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
