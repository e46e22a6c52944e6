"""What everything says in a dry run, in which loopback devices stand in for a robot's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sofa_softctl.errors import SoftctlError

DRY_RUN = "dry run: no motor moves"


@contextmanager
def noted(words: str) -> Iterator[None]:
    """Give errors of the block these words as a note; empty: nothing."""
    try:
        yield
    except SoftctlError as error:
        if words:
            error.add_note(f"{words.capitalize()}.")
        raise
