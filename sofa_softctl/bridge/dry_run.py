"""Messages of a dry run, in which simulated devices replace a robot's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sofa_softctl.errors import SoftctlError

DRY_RUN = "dry run: no motor moves"


@contextmanager
def annotate_errors(note: str) -> Iterator[None]:
    """Add a note, if any, to errors of the block."""
    try:
        yield
    except SoftctlError as error:
        if note:
            error.add_note(f"{note.capitalize()}.")
        raise
